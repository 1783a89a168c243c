"""CALS in a recipe: the penalty and its reviews against the worked numbers and a slow loop."""

import numpy as np
import pytest
import torch

from mixcal.core.predictions import Predictions
from mixcal.core.protocols import combine
from mixcal.methods.calibrators.cals import AdaptiveMargins, cals
from mixcal.methods.losses.class_adaptive_margin import margin_penalty
from mixcal.methods.objectives.supervised import Supervised
from tests.support.fixtures import FIXTURE_A, LABELS_A
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network


def reviewed(term: AdaptiveMargins, logits: torch.Tensor, times: int = 1) -> None:
    predictions = Predictions.of(
        np.zeros(len(logits), dtype=int), logits=logits.numpy(), split="validation"
    )
    for _ in range(times):
        term.review(predictions, toy_clock())


def three_classes(**knobs) -> AdaptiveMargins:
    term = cals(toy_facts(classes=3, class_counts=(1, 1, 1)), **knobs).terms["margin_penalty"]
    term.multipliers.copy_(torch.tensor([0.1, 0.2, 0.3]))
    return term


def test_a_review_by_hand() -> None:
    term = three_classes(margin=1.0)
    reviewed(term, FIXTURE_A)
    assert term.multipliers.tolist() == pytest.approx([0.575, 0.600001, 1.35], abs=1e-6)
    assert term.violation.tolist() == pytest.approx([0.25, 0, 0.875])
    assert term.stiffness.tolist() == [1, 1, 1]


def test_stiffness_grows_at_every_tenth_review_where_the_violation_has_not_shrunk() -> None:
    term = three_classes(margin=1.0)
    reviewed(term, FIXTURE_A, times=9)
    assert term.stiffness.tolist() == [1, 1, 1]
    reviewed(term, FIXTURE_A)
    # The mean violations are 0.25, 0 and 0.875, as the time before: 0 > 0 is false.
    assert term.stiffness.tolist() == pytest.approx([1.2, 1.0, 1.2])
    reviewed(term, FIXTURE_A, times=9)
    # Closer logits: all violations have shrunk by more than a tenth when the next one is due.
    reviewed(term, FIXTURE_A / 2)
    assert term.stiffness.tolist() == pytest.approx([1.2, 1.0, 1.2])


def test_multipliers_by_the_book() -> None:
    term, book = three_classes(margin=1.0), [0.1, 0.2, 0.3]
    for _ in range(3):
        reviewed(term, FIXTURE_A)
        for k in range(3):
            every = [
                min(max(book[k] + 1.0 * ((row.max() - row[k]).item() - 1), 1e-6), 1e6)
                for row in FIXTURE_A
            ]
            book[k] = sum(every) / len(every)
    assert term.multipliers.tolist() == pytest.approx(book, rel=1e-5)


def test_the_step_adds_the_penalty_of_the_labeled_rows() -> None:
    calibrator = combine([cals(toy_facts(), margin=0.3)])
    batch, term = toy_batch(8), calibrator.terms["margin_penalty"]
    term.multipliers.copy_(torch.tensor([0.5, 0.1, 0.2, 0.3]))
    outcome = Supervised(calibrator)(toy_network(), batch, toy_clock())
    logits = toy_network()(batch.labeled.inputs).logits
    expected = margin_penalty(logits, term.multipliers, term.stiffness, margin=0.3).mean()
    assert outcome.losses["margin_penalty"].item() == pytest.approx(expected.item(), abs=1e-6)
    assert set(outcome.losses) == {"labeled", "margin_penalty"}


def test_reviews_change_the_next_steps_and_go_with_a_checkpoint() -> None:
    objective = Supervised(combine([cals(toy_facts(), margin=0.3)]))
    before = objective(toy_network(), toy_batch(8), toy_clock()).losses["margin_penalty"]
    logits = 3 * torch.randn(50, 4)
    predictions = Predictions.of(np.zeros(50, dtype=int), logits=logits.numpy())
    objective.review(predictions, toy_clock())
    after = objective(toy_network(), toy_batch(8), toy_clock()).losses["margin_penalty"]
    assert after.item() != pytest.approx(before.item(), rel=1e-3)
    again = Supervised(combine([cals(toy_facts(), margin=0.3)]))
    again.load_state_dict(objective.state_dict())
    found = again(toy_network(), toy_batch(8), toy_clock()).losses["margin_penalty"]
    assert torch.equal(found, after)


def test_whole_loss_by_hand() -> None:
    term = three_classes(margin=1.0)
    penalty = margin_penalty(FIXTURE_A, term.multipliers, term.stiffness, margin=term.margin)
    plain = torch.nn.functional.cross_entropy(FIXTURE_A, LABELS_A)
    assert (plain + penalty.mean()).item() == pytest.approx(1.486793, abs=1e-6)
