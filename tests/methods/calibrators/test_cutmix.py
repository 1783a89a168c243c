"""CutMix by hand: the worked box, and that the share of untouched pixels is the target weight."""

import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.core.step import Passes, StepOutput
from mixcal.methods.calibrators.cutmix import box_of, cutmix, kept_share
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network


def test_the_worked_box() -> None:
    box = box_of(0.6, (3, 20), 32, 32)
    assert box == (0, 10, 13, 30)
    assert kept_share(box, 32, 32) == pytest.approx(0.746094, abs=1e-6)


def test_an_odd_side_shrinks_by_one() -> None:
    # √(1 − 0.75) = ½; half of 10 pixels is a side of 5, whose half is 2.
    assert box_of(0.75, (5, 5), 10, 10) == (3, 3, 7, 7)


def test_the_share_of_untouched_pixels_is_the_target_weight() -> None:
    step = StepOutput(batch=toy_batch(8, 20), forward=Passes(toy_network()))
    before = step.batch.labeled.inputs.clone()
    mixer, shares = cutmix(toy_facts(), probability=1.0).mixer, set()
    for moment in range(25):
        mixed = mixer(step, toy_clock(moment))
        for row in range(8):
            if torch.equal(mixed.first.inputs[row], mixed.second.inputs[row]):
                continue
            kept = (mixed.rows.inputs[row] == mixed.first.inputs[row]).float().mean()
            assert kept.item() == pytest.approx(mixed.target_weight[row].item(), abs=1e-6)
        expected = torch.lerp(
            mixed.second.targets, mixed.first.targets, mixed.target_weight[:, None]
        )
        assert torch.allclose(mixed.rows.targets, expected)
        shares.add(mixed.target_weight[0].item())
    assert len(shares) > 5
    assert torch.equal(step.batch.labeled.inputs, before)


def test_mixes_with_its_probability() -> None:
    step = StepOutput(batch=toy_batch(8, 20), forward=Passes(toy_network()))
    mixer = cutmix(toy_facts(), probability=0.5).mixer
    found = sum(mixer(step, toy_clock(moment)) is not None for moment in range(200))
    assert 70 < found < 130


def test_texts_are_refused() -> None:
    with pytest.raises(BadInput, match="CutMix"):
        cutmix(toy_facts(input_kind="text"))
