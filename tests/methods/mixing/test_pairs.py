"""Pairs and their blends by hand; hidden-layer mixing against mixing the inputs of a linear map."""

import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.core.step import Passes, StepOutput
from mixcal.methods.mixing.pairs import (
    equal_weights,
    first_stage,
    from_second_loader,
    lerped,
    mixed_pairs,
    permuted,
)
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network


def toy_step() -> StepOutput:
    return StepOutput(batch=toy_batch(8, 20), forward=Passes(toy_network()))


def test_words_by_hand() -> None:
    first = torch.tensor([[[1.0, 0], [0, 1], [0, 0]]])
    second = torch.tensor([[[0.0, 2], [2, 0], [4, 4]]])
    expected = torch.tensor([[[0.25, 1.5], [1.5, 0.25], [3, 3]]])
    assert torch.allclose(lerped(first, second, torch.tensor([0.25])), expected)


def test_a_permutation_pairs_every_row_once() -> None:
    step = toy_step()
    pairs = permuted(step, toy_clock())
    assert sorted(pairs.order.tolist()) == list(range(8))
    assert torch.equal(pairs.second.inputs, step.batch.labeled.inputs[pairs.order])
    assert torch.equal(pairs.second.targets, step.batch.labeled.targets[pairs.order])


def test_the_second_loader_is_the_partner_stream() -> None:
    step = toy_step()
    pairs = from_second_loader(step, toy_clock())
    assert pairs.second is step.batch.extra["partner"]


def test_image_and_target_weights_are_kept_apart() -> None:
    pairs = permuted(toy_step(), toy_clock())
    image, target = torch.full((8,), 0.7), torch.linspace(0, 1, 8)
    mixed = mixed_pairs(pairs, image, target, loss_weight=None)
    expected = 0.7 * pairs.first.inputs + 0.3 * pairs.second.inputs
    assert torch.allclose(mixed.rows.inputs, expected, atol=1e-6)
    share = target[:, None]
    expected = share * pairs.first.targets + (1 - share) * pairs.second.targets
    assert torch.allclose(mixed.rows.targets, expected, atol=1e-6)
    assert mixed.loss_weight is None


def test_a_blend_after_a_stage_sees_the_partners_activations() -> None:
    pairs = permuted(toy_step(), toy_clock())
    weight = torch.full((8,), 0.3)
    mixed = mixed_pairs(pairs, weight, weight, stage="group1")
    assert torch.equal(mixed.rows.inputs, pairs.first.inputs)
    matrix = torch.randn(36, 5)
    hidden = pairs.first.inputs.flatten(1) @ matrix
    inputs = 0.3 * pairs.first.inputs + 0.7 * pairs.second.inputs
    assert torch.allclose(mixed.between.blend(hidden), inputs.flatten(1) @ matrix, atol=1e-5)


def test_one_coefficient_a_batch_or_one_a_row() -> None:
    pairs = permuted(toy_step(), toy_clock())
    once, _ = equal_weights(1.0, "batch")(pairs, toy_clock().generator)
    each, _ = equal_weights(1.0, "sample")(pairs, toy_clock().generator)
    assert once.unique().numel() == 1
    assert each.unique().numel() == 8


def test_texts_are_mixed_after_the_lookup() -> None:
    assert first_stage(toy_facts(input_kind="text")) == "embedding"
    with pytest.raises(BadInput, match="permute"):
        first_stage(toy_facts(input_kind="text"), "two_loaders")
