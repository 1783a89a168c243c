"""Test-time augmentation: numbers worked out by hand, no augmentation against a single pass, and
each sample alone against the same sample in a batch."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mixcal.backbones.wide_resnet import small
from mixcal.core.activations import Activations
from mixcal.core.errors import BadInput
from mixcal.data.views.lens import Lens
from mixcal.judging.rescaling.temperature import Temperature
from mixcal.predicting.single_pass import SINGLE_PASS
from mixcal.predicting.test_time import TestTime, averaged

LENS = Lens(flip=True)
HAND = torch.tensor([[2.0, 0, 0], [0, 1, 0], [3, 0, 0]])[:, None]


class Answers(nn.Module):
    """Gives the logits of a list, one call after the other."""

    def __init__(self, rows: Tensor) -> None:
        super().__init__()
        self.rows = iter(rows)

    def forward(self, inputs: Tensor) -> Activations:
        row = next(self.rows)
        return Activations(row, row)


def seen(raw: Tensor) -> Tensor:
    return raw.float() / 100


def pictures(n: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (n, 1, 8, 8), dtype=torch.uint8, generator=generator)


@pytest.mark.parametrize(
    ("average", "wanted"),
    [("logits", (0.688481, 0.181482, 0.130037)), ("probs", (0.636124, 0.242634, 0.121242))],
)
def test_by_hand(average, wanted: tuple[float, ...]) -> None:
    mean = averaged(HAND, average)
    probs = mean.softmax(1) if average == "logits" else mean
    assert probs[0].tolist() == pytest.approx(wanted, abs=1e-6)
    way = TestTime(augmentations=2, average=average, lens=LENS)
    assert way.kind == average
    answer = way(Answers(HAND), pictures(1), seen)
    assert torch.equal(answer.scores, mean)
    # The features are those of the picture itself.
    assert torch.equal(answer.features, HAND[0])


def test_the_rescaler_of_plain_logits_is_applied_to_averaged_ones() -> None:
    mean = averaged(HAND, "logits").numpy()
    cooled = Temperature(temperature=2.0).transform(mean)
    shifted = np.exp(np.array([5 / 3, 1 / 3, 0]) / 2)
    assert cooled[0] == pytest.approx(shifted / shifted.sum(), abs=1e-6)


def test_no_augmentation_is_a_single_pass() -> None:
    network, raw = small(4, channels=1).eval(), pictures(5)
    with torch.no_grad():
        plain = SINGLE_PASS(network, raw, seen)
    found = TestTime(augmentations=0, lens=LENS)(network, raw, seen)
    assert torch.equal(found.scores, plain.scores)
    other = TestTime(augmentations=4, lens=LENS)(network, raw, seen)
    assert not torch.allclose(other.scores, plain.scores, atol=1e-3)
    assert torch.equal(other.features, plain.features)


def test_a_sample_answers_the_same_in_any_batch_and_order() -> None:
    network, raw = small(4, channels=1).eval(), pictures(7)
    way = TestTime(lens=LENS, seed=5)
    whole = way(network, raw, seen).scores
    order = torch.tensor([6, 2, 0, 5, 1, 4, 3])
    assert torch.allclose(way(network, raw[order], seen).scores, whole[order], atol=1e-5)
    alone = torch.cat([way(network, raw[i : i + 1], seen).scores for i in range(7)])
    assert torch.allclose(alone, whole, atol=1e-5)
    other = TestTime(lens=LENS, seed=6)(network, raw, seen).scores
    assert not torch.allclose(other, whole, atol=1e-3)


def test_mistakes() -> None:
    with pytest.raises(BadInput, match="-1 augmentations"):
        TestTime(augmentations=-1, lens=LENS)
    with pytest.raises(BadInput, match="these are none"):
        TestTime(lens=LENS)(nn.Identity(), torch.zeros(3, 9, dtype=torch.int64), seen)
