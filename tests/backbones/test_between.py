"""Hidden-layer mixing at stages and the answer's type, against what was asked for."""

import pytest
import torch
from torch import Tensor, nn

from mixcal.backbones.between import answered, entered, reached
from mixcal.core.activations import Between
from mixcal.core.errors import BadInput

STAGES = ("input", "group1")


def doubled(hidden: Tensor) -> Tensor:
    return 2 * hidden


def test_only_the_named_stage_is_changed() -> None:
    hidden = torch.ones(2, 3)
    assert reached(Between("group1", doubled), "group1", hidden).sum() == 12
    assert reached(Between("group1", doubled), "group2", hidden) is hidden
    assert reached(None, "group1", hidden) is hidden
    assert entered(Between("input", doubled), STAGES, hidden).sum() == 12
    assert entered(Between("group1", doubled), STAGES, hidden) is hidden
    assert entered(None, STAGES, hidden) is hidden


def test_an_unknown_stage_is_an_error() -> None:
    with pytest.raises(BadInput, match="no stage 'layer1' to mix in; take one of input, group1"):
        entered(Between("layer1", doubled), STAGES, torch.ones(2, 3))


def test_answers_are_float32() -> None:
    head, features = nn.Linear(3, 2).bfloat16(), torch.randn(4, 3).bfloat16()
    answer = answered(head, features)
    assert answer.logits.dtype == answer.features.dtype == torch.float32
    assert torch.equal(answer.logits, head(features).float())
