"""CRL in a recipe: its history against one counted by hand, its loss against the formula."""

import pytest
import torch

from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.protocols import combine
from mixcal.core.rows import Batch, Rows
from mixcal.methods.calibrators.crl import crl
from mixcal.methods.calibrators.mixup import mixup
from mixcal.methods.losses.correctness_ranking import correctness_share, ranking_losses
from mixcal.methods.objectives.supervised import Supervised
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network


def clock_at(step: int) -> Clock:
    return Clock.at(step, seed=0, steps=100, epoch_steps=2)


def rows_at(batch: Batch, index: list[int]) -> Batch:
    rows = batch.labeled
    return Batch(
        labeled=Rows(
            inputs=rows.inputs,
            targets=rows.targets,
            index=torch.tensor(index),
            part="labeled",
        )
    )


def test_history_and_loss_over_a_few_epochs() -> None:
    objective, network = Supervised(combine([crl(toy_facts(labeled=8), weight=0.5)])), toy_network()
    term = objective.calibrator.terms["correctness_ranking"]
    halves = [rows_at(toy_batch(4, seed=s), list(range(4 * s, 4 * s + 4))) for s in (0, 1)]
    counts = torch.zeros(8)
    for step in range(8):
        batch = halves[step % 2]
        logits = toy_network()(batch.labeled.inputs).logits
        index = batch.labeled.index
        # Epoch e, from 0, has at most e counts; C is that before this batch.
        history = correctness_share(counts[index], max(step // 2, 1), counts.min())
        expected = 0.5 * ranking_losses(logits.softmax(1).amax(1), history).mean()
        found = objective(network, batch, clock_at(step)).losses["correctness_ranking"]
        assert found.item() == pytest.approx(expected.item(), abs=1e-6)
        counts[index] += (logits.argmax(1) == batch.labeled.targets.argmax(1)).float()
        assert term.correct.tolist() == counts.tolist()
    assert 0 < counts.max() <= 4


def test_the_worked_numbers_from_a_memory() -> None:
    """Counts (0, 3, 1, 3) in the fourth epoch of a set of four."""
    objective = Supervised(combine([crl(toy_facts(labeled=4))]))
    term = objective.calibrator.terms["correctness_ranking"]
    term.correct.copy_(torch.tensor([0, 3, 1, 3]))
    batch = rows_at(toy_batch(4), [0, 1, 2, 3])
    confidence = toy_network()(batch.labeled.inputs).logits.softmax(1).amax(1)
    expected = ranking_losses(confidence, torch.tensor([0, 1, 1 / 3, 1])).mean()
    found = objective(toy_network(), batch, Clock.at(3, seed=0, steps=9, epoch_steps=1))
    assert found.losses["correctness_ranking"].item() == pytest.approx(expected.item(), abs=1e-6)


def test_equal_histories_rank_nothing() -> None:
    objective = Supervised(combine([crl(toy_facts())]))
    outcome = objective(toy_network(), toy_batch(8), toy_clock())
    assert outcome.losses["correctness_ranking"].item() == 0


def test_mixed_rows_in_place_of_labeled_ones_are_refused() -> None:
    with pytest.raises(BadInput, match="mixed rows"):
        combine([mixup(toy_facts()), crl(toy_facts())])


def test_balanced_batches_leave_no_passes_to_count() -> None:
    with pytest.raises(BadInput, match='order = "passes"'):
        crl(toy_facts(order="balanced"))
