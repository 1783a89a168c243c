"""Manifold mixup against a pass written out by hand, stage by stage; both members get gradients."""

import pytest
import torch

from mixcal.core.activations import Between
from mixcal.core.errors import BadInput
from mixcal.core.protocols import combine
from mixcal.core.rows import Batch
from mixcal.core.step import Passes, StepOutput
from mixcal.methods.calibrators.manifold_mixup import manifold_mixup
from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.softmax_binary import softmax_binary_cross_entropy
from mixcal.methods.objectives.supervised import Supervised
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network


def mixed_by(step: StepOutput, moment: int = 50, **knobs):
    return manifold_mixup(toy_facts(), **knobs).mixer(step, toy_clock(moment))


def toy_step() -> StepOutput:
    return StepOutput(batch=toy_batch(8, 20), forward=Passes(toy_network()))


def test_every_stage_is_drawn() -> None:
    step = toy_step()
    drawn = [mixed_by(step, moment).between for moment in range(60)]
    stages = [between.stage if between else "input" for between in drawn]
    for stage in ("input", "group1", "group2"):
        assert 8 < stages.count(stage) < 34


@pytest.mark.parametrize("stage", ["group1", "group2"])
def test_against_two_passes_by_hand(stage: str) -> None:
    step = toy_step()
    mixed = mixed_by(step, stages=[stage])
    network = toy_network()
    kept = {}

    def keep(hidden: torch.Tensor) -> torch.Tensor:
        kept["hidden"] = hidden
        return hidden

    network(step.batch.labeled.inputs, between=Between(stage, keep))
    share, order = mixed.image_weight[0], torch.randperm(8, generator=_after_the_stage())
    by_hand = share * kept["hidden"] + (1 - share) * kept["hidden"][order]
    expected = network(step.batch.labeled.inputs, between=Between(stage, lambda _: by_hand))
    found = network(mixed.rows.inputs, between=mixed.between)
    assert torch.allclose(found.logits, expected.logits, atol=1e-5)
    targets = step.batch.labeled.targets
    assert torch.allclose(mixed.rows.targets, share * targets + (1 - share) * targets[order])


def _after_the_stage() -> torch.Generator:
    """The step's generator once the stage is drawn."""
    generator = toy_clock().generator
    torch.rand(1, generator=generator)
    return generator


def test_the_gradient_flows_through_both_members() -> None:
    step = toy_step()
    mixed = mixed_by(step, stages=["group2"])
    hidden = torch.ones(8, 3, requires_grad=True)
    weights = torch.arange(8.0)[:, None]
    (mixed.between.blend(hidden) * weights).sum().backward()
    share, order = mixed.image_weight[0], mixed.second.index
    assert len(order) == 8
    assert torch.allclose(hidden.grad.sum(), 3 * weights.sum())
    # A row gets λ of its own weight and 1 − λ of that of the row whose partner it is.
    assert not torch.allclose(hidden.grad[:, 0], share * weights[:, 0])


def test_binary_loss_by_hand() -> None:
    logits, targets = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[0.7, 0.0, 0.3]])
    loss = softmax_binary_cross_entropy(logits, targets)
    assert loss.item() == pytest.approx(0.560876, abs=1e-6)
    terms = 0.613627 + 0.280678 + 0.788323
    assert 3 * loss.item() == pytest.approx(terms, abs=3e-6)
    assert cross_entropy(logits, targets).item() == pytest.approx(1.007606, abs=1e-6)


def test_binary_loss_stays_finite() -> None:
    logits = torch.tensor([[200.0, 0.0, 0.0]], requires_grad=True)
    loss = softmax_binary_cross_entropy(logits, torch.tensor([[0.0, 1.0, 0.0]]))
    loss.sum().backward()
    assert torch.isfinite(loss).all()
    assert torch.isfinite(logits.grad).all()


def test_the_binary_loss_is_that_of_the_mixed_rows() -> None:
    calibrator = combine([manifold_mixup(toy_facts(), stages=["group1"], loss="bce")])
    batch = Batch(labeled=toy_batch(8).labeled)
    outcome = Supervised(calibrator)(toy_network(), batch, toy_clock())
    step = StepOutput(batch=batch, forward=Passes(toy_network()))
    mixed = calibrator.mixer(step, toy_clock())
    logits = toy_network()(mixed.rows.inputs, between=mixed.between).logits
    expected = softmax_binary_cross_entropy(logits, mixed.rows.targets).mean()
    assert outcome.losses["mixed"].item() == pytest.approx(expected.item(), abs=1e-6)


def test_texts_have_no_input_to_blend() -> None:
    facts = toy_facts(input_kind="text")
    assert manifold_mixup(facts).mixer.stages == ("embedding",)
    with pytest.raises(BadInput, match="embedding"):
        manifold_mixup(facts, stages=["input"])
