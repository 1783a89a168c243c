"""Random mixup by its promises: pairs from the joint pool, uniformly, after the warm-up."""

from dataclasses import replace

import pytest
import torch

from mixcal.catalog import make
from mixcal.core.errors import BadInput
from mixcal.core.protocols import combine
from mixcal.core.step import Passes, StepOutput
from mixcal.methods.algorithms.fixmatch import fixmatch
from mixcal.methods.calibrators.random_mixup import random_mixup
from mixcal.methods.objectives.semi_supervised import SemiSupervised
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network


def made(**knobs) -> SemiSupervised:
    calibrator = combine([random_mixup(toy_facts(), **(knobs or {"warmup_steps": 0}))])
    return SemiSupervised(fixmatch(toy_facts()), calibrator, weak_branch="separate")


def step_of(objective: SemiSupervised) -> StepOutput:
    batch = toy_batch(8, 20)
    step = StepOutput(batch=batch, forward=Passes(toy_network()))
    return objective._with_pseudo(step.run(batch.unlabeled.weak, grad=False), batch.unlabeled)


def test_members_come_from_the_whole_pool_alike() -> None:
    objective = made()
    step = step_of(objective)
    labeled, count = 0, 0
    for moment in range(300):
        mixed = objective.calibrator.mixer(step, toy_clock(moment))
        for member in (mixed.first, mixed.second):
            known = {tuple(row.tolist()) for row in step.batch.labeled.inputs.flatten(1)}
            labeled += sum(tuple(r.tolist()) in known for r in member.inputs.flatten(1))
            count += len(member)
    assert labeled / count == pytest.approx(8 / 28, abs=0.03)


def test_blends_by_hand() -> None:
    objective = made(gamma=0.7, warmup_steps=0)
    mixed = objective.calibrator.mixer(step_of(objective), toy_clock())
    expected = 0.7 * mixed.first.inputs + 0.3 * mixed.second.inputs
    assert torch.allclose(mixed.rows.inputs, expected, atol=1e-6)
    expected = 0.7 * mixed.first.targets + 0.3 * mixed.second.targets
    assert torch.allclose(mixed.rows.targets, expected, atol=1e-6)
    assert len(mixed.rows) == 8


def test_the_labeled_member_is_anchored() -> None:
    objective, plain = made(anchor="labeled", warmup_steps=0), made()
    step = step_of(objective)
    known = step.batch.labeled.inputs.flatten(1)

    def labeled(rows: torch.Tensor) -> torch.Tensor:
        return (rows.flatten(1)[:, None] == known).all(2).any(1)

    swapped = 0
    for moment in range(50, 90):
        mixed = objective.calibrator.mixer(step, toy_clock(moment))
        assert bool((mixed.image_weight >= 0.5).all())
        # Never a pseudo-labeled first member beside a labeled second one.
        assert not bool((~labeled(mixed.first.inputs) & labeled(mixed.second.inputs)).any())
        # The same pairs as without an anchor, in one order or the other.
        theirs = plain.calibrator.mixer(step, toy_clock(moment))
        turned = (mixed.first.inputs != theirs.first.inputs).flatten(1).any(1)
        for ours, one, other in (
            (mixed.first, theirs.first, theirs.second),
            (mixed.second, theirs.second, theirs.first),
        ):
            expected = torch.where(turned[:, None], other.targets, one.targets)
            assert torch.equal(ours.targets, expected)
        swapped += int(turned.sum())
    assert swapped > 10


def test_nothing_before_the_warm_up_ends() -> None:
    objective = made(warmup_fraction=0.5)
    assert objective.calibrator.mixer(step_of(objective), toy_clock(49)) is None
    assert objective.calibrator.mixer(step_of(objective), toy_clock(50)) is not None


def test_hidden_labels_that_nobody_knows_are_not_called_right() -> None:
    objective = made()
    step = step_of(objective)
    unknown = torch.full_like(step.batch.unlabeled.hidden_labels, -1)
    views = replace(step.batch.unlabeled, hidden_labels=unknown)
    step = replace(step, batch=replace(step.batch, unlabeled=views))
    mixed = objective.calibrator.mixer(step, toy_clock())
    assert mixed.readings["wrong_partners"].isnan()


@pytest.mark.parametrize(
    "knobs", [{"gamma": 2.0}, {"warmup_fraction": 2.0}, {"warmup_steps": -1}, {"alpha": 0.0}]
)
def test_numbers_that_mean_nothing_are_refused(knobs: dict[str, float]) -> None:
    with pytest.raises(BadInput, match=r"random-mixup': .* must be"):
        make("calibrator", "random-mixup", knobs, toy_facts())


def test_one_way_to_say_the_warm_up() -> None:
    with pytest.raises(BadInput, match="not both"):
        random_mixup(toy_facts(), warmup_steps=3, warmup_fraction=0.1)
    assert random_mixup(toy_facts()).mixer.warmup_steps == 102_400


def test_texts_are_refused() -> None:
    with pytest.raises(BadInput, match="works on pixels"):
        random_mixup(replace(toy_facts(), input_kind="text"))
