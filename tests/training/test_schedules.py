"""Learning rates against their formulas and torch's own schedulers."""

import math

import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.training.options import ScheduleOptions
from mixcal.training.schedules import learning_rate

STEPS, EPOCH = 200, 20


def rates(options: ScheduleOptions, peak: float = 0.03) -> list[float]:
    return [
        learning_rate(options, peak, step, steps=STEPS, epoch_steps=EPOCH) for step in range(STEPS)
    ]


def test_fixmatch_cosine_ends_at_a_fifth() -> None:
    found = rates(ScheduleOptions())
    expected = [0.03 * max(0, math.cos(7 * math.pi * k / (16 * STEPS))) for k in range(STEPS)]
    assert found == pytest.approx(expected)
    end = learning_rate(ScheduleOptions(), 1.0, STEPS, steps=STEPS, epoch_steps=EPOCH)
    assert end == pytest.approx(0.195, abs=1e-3)


def torch_rates(make, peak: float, *, per_epoch: bool) -> list[float]:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=peak)
    scheduler = make(optimizer)
    found = []
    for step in range(STEPS):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if not per_epoch or (step + 1) % EPOCH == 0:
            scheduler.step()
    return found


def test_multistep_equals_torch() -> None:
    ours = rates(ScheduleOptions(name="multistep", milestones_epochs=(3, 7), factor=0.2), 0.1)
    theirs = torch_rates(
        lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [3, 7], gamma=0.2), 0.1, per_epoch=True
    )
    assert ours == pytest.approx(theirs)


def test_cosine_to_zero_equals_torch() -> None:
    ours = rates(ScheduleOptions(name="cosine-to-zero"), 0.1)
    theirs = torch_rates(
        lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, STEPS), 0.1, per_epoch=False
    )
    assert ours == pytest.approx(theirs)


def test_factors_of_their_own() -> None:
    options = ScheduleOptions(name="multistep", milestones_epochs=(2, 4), factors=(0.01, 0.5))
    found = rates(options, 1.0)
    assert [found[0], found[40], found[80]] == pytest.approx([1, 0.01, 0.005])
    with pytest.raises(BadInput, match="2 milestones and 1 factors"):
        rates(ScheduleOptions(name="multistep", milestones_epochs=(2, 4), factors=(0.1,)))


def test_warm_up_is_linear_and_then_the_schedule_begins() -> None:
    found = rates(ScheduleOptions(name="cosine-to-zero", warmup_epochs=0.5), 1.0)
    assert found[:10] == pytest.approx([0.1 * k for k in range(1, 11)])
    assert found[10] == pytest.approx(1.0)
