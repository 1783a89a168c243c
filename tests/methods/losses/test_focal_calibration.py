"""The focal calibration loss against numbers worked out by hand."""

import pytest
import torch

from mixcal.methods.losses.focal import focal
from mixcal.methods.losses.focal_calibration import focal_calibration
from tests.support.fixtures import FIXTURE_A, LABELS_A, one_hot


@pytest.mark.parametrize("soft", [False, True])
def test_by_hand(soft: bool) -> None:
    targets = one_hot(LABELS_A, 3) if soft else LABELS_A
    loss = focal_calibration(FIXTURE_A, targets, gamma=3, weight=0.5)
    assert loss.mean().item() == pytest.approx(0.618991, abs=1e-6)


def test_the_norm_is_squared_and_summed() -> None:
    plain = focal(FIXTURE_A, LABELS_A, gamma=3)
    squares = 2 * (focal_calibration(FIXTURE_A, LABELS_A) - plain)
    # Neither averaged over the classes nor a plain norm: those would be 0.462195 and 0.665203.
    averaged, rooted = plain + 0.5 * squares / 3, plain + 0.5 * squares.sqrt()
    assert averaged.mean().item() == pytest.approx(0.462195, abs=1e-6)
    assert rooted.mean().item() == pytest.approx(0.665203, abs=1e-6)


def test_without_weight_it_is_the_focal_loss() -> None:
    assert torch.equal(focal_calibration(FIXTURE_A, LABELS_A, weight=0), focal(FIXTURE_A, LABELS_A))
