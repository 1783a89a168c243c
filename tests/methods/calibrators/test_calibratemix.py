"""CalibrateMix within a step against the step written out by hand, for both readings of it."""

import copy

import pytest
import torch
import torch.nn.functional as F

from mixcal.core.errors import BadInput
from mixcal.core.protocols import combine
from mixcal.core.step import Passes, StepOutput
from mixcal.methods.algorithms.fixmatch import fixmatch
from mixcal.methods.calibrators.calibratemix import calibratemix
from mixcal.methods.losses.binary_cross_entropy import binary_cross_entropy
from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.mixing.guided import Guide, Pairing, Side
from mixcal.methods.objectives.losses import mixed_loss
from mixcal.methods.objectives.mixing import mixed_late
from mixcal.methods.objectives.semi_supervised import SemiSupervised
from mixcal.methods.objectives.supervised import Supervised
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network


def objective(weak_branch: str = "separate", **knobs) -> SemiSupervised:
    calibrator = combine(
        [
            calibratemix(
                toy_facts(),
                **(knobs if "warmup_fraction" in knobs else {"warmup_steps": 0} | knobs),
            )
        ]
    )
    algorithm = fixmatch(toy_facts(), threshold=0.3)
    return SemiSupervised(algorithm, calibrator, weak_branch=weak_branch)


def test_losses_by_hand() -> None:
    logits, target = torch.tensor([[2.0, 1, 0]]), torch.tensor([[0.7, 0, 0.3]])
    assert cross_entropy(logits, target).item() == pytest.approx(1.007606, abs=1e-6)
    assert binary_cross_entropy(logits, target).item() == pytest.approx(0.911112, abs=1e-6)


@pytest.mark.parametrize(("preset", "expected"), [("paper", 2.35), ("official", 4.7)])
def test_the_sum_of_the_losses_by_hand(preset: str, expected: float) -> None:
    # Base losses 0.9 and 0.4; the rows of the first kind of mix cost 1.1 each, of the second 1.0.
    mix = calibratemix(toy_facts(), preset=preset, warmup_steps=0).mixer.mix
    group = torch.tensor([0, 1] * 4)
    zeros = torch.zeros(8, dtype=torch.int64)
    pairing = Pairing(
        first=zeros,
        second=zeros,
        gamma=torch.ones(8),
        weight=torch.ones(8),
        group=group,
        found=torch.ones(8, dtype=torch.bool),
        easy=torch.ones(28, dtype=torch.bool),
    )
    each = torch.where(group == 0, 1.1, 1.0)
    mixed = (each * mix.loss_weight(pairing)).mean().item()
    times = 2 if preset == "official" else 1
    assert times * (0.9 + 0.4) + mixed == pytest.approx(expected, abs=1e-6)


def test_mixed_rows_come_from_weak_views_with_hard_pseudo_labels() -> None:
    batch, network = toy_batch(), toy_network()
    made = objective()
    step = StepOutput(batch=batch, forward=Passes(network))
    step = step.run(batch.unlabeled.weak, grad=False)
    step = made._with_pseudo(step, batch.unlabeled)
    step = step.run(batch.labeled, batch.unlabeled.strong)
    mixed = made.calibrator.mixer(step, toy_clock())
    gamma = mixed.image_weight.view(-1, 1, 1, 1)
    expected = gamma * mixed.first.inputs + (1 - gamma) * mixed.second.inputs
    assert torch.allclose(mixed.rows.inputs, expected, atol=1e-6)
    assert torch.equal(mixed.first.inputs, batch.labeled.inputs)
    weak = [row.tolist() for row in batch.unlabeled.weak.inputs.flatten(1)]
    for row in mixed.second.inputs.flatten(1):
        assert row.tolist() in weak
    assert set(mixed.second.targets.flatten().tolist()) == {0.0, 1.0}
    gamma = mixed.target_weight[:, None]
    expected = gamma * mixed.first.targets + (1 - gamma) * mixed.second.targets
    assert torch.allclose(mixed.rows.targets, expected, atol=1e-6)


@pytest.mark.parametrize(("mixed_branch", "passes"), [("own", 3), ("with_strong", 2)])
def test_how_many_passes_a_step_makes(mixed_branch: str, passes: int) -> None:
    counted = []

    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = toy_network()

        def forward(self, inputs, between=None):
            counted.append(len(inputs))
            return self.inner(inputs, between)

    objective(mixed_branch=mixed_branch)(Counting(), toy_batch(8, 20), toy_clock())
    assert len(counted) == passes
    assert sum(counted) == 8 + 20 + 20 + 8


def test_the_official_step_runs_everything_twice() -> None:
    batch, network = toy_batch(8, 20), toy_network()
    made = objective("joint", preset="official", warmup_steps=0)
    twin, reference = copy.deepcopy(network), objective("joint", preset="official", warmup_steps=0)
    outcome = made(network, batch, toy_clock())
    # By hand: pass one, the mix it leads to, pass two with the mixed rows beside everything.
    rows = [batch.labeled, batch.unlabeled.strong, batch.unlabeled.weak]
    step = StepOutput(batch=batch, forward=Passes(twin)).run(*rows)
    step = reference._with_pseudo(step, batch.unlabeled)
    mixed = reference.calibrator.mixer(step, toy_clock())
    again = Passes(twin)(*rows, mixed.rows)

    def base(found) -> torch.Tensor:
        confidence, labels = found["weak"].logits.detach().softmax(1).max(1)
        each = F.cross_entropy(found["strong"].logits, labels, reduction="none")
        supervised = F.cross_entropy(found["labeled"].logits, batch.labeled.targets.argmax(1))
        return supervised + (each * (confidence >= 0.3)).mean()

    losses = F.binary_cross_entropy_with_logits(
        again["mixed"].logits, mixed.rows.targets, reduction="none"
    ).mean(1)
    # The two kinds of mix have coefficients of their own, four rows each: their means are added.
    kinds = mixed.image_weight.unique()
    means = [losses[mixed.image_weight == gamma].mean() for gamma in kinds]
    assert len(kinds) == 2
    expected = base(step.activations) + base(again) + sum(means)
    assert outcome.total().item() == pytest.approx(expected.item(), abs=1e-5)
    assert set(outcome.losses) == {
        "labeled_first",
        "unlabeled_first",
        "labeled",
        "unlabeled",
        "mixed",
    }
    assert mixed.loss_weight.mean().item() == pytest.approx(2)


def test_nothing_is_mixed_before_the_warm_up_ends_but_margins_are_gathered() -> None:
    made = objective(warmup_fraction=0.5)
    assert "mixed" not in made(toy_network(), toy_batch(), toy_clock(49)).losses
    ledger = made.calibrator.mixer.mix.unlabeled_ledger
    assert ledger.summary()[2].sum() > 0
    assert "mixed" in made(toy_network(), toy_batch(), toy_clock(50)).losses


def test_the_official_pseudo_margins_start_after_the_warm_up() -> None:
    made = objective("joint", preset="official", warmup_steps=50)
    made(toy_network(), toy_batch(), toy_clock(10))
    mix = made.calibrator.mixer.mix
    assert mix.unlabeled_ledger.summary()[2].sum() == 0
    assert mix.labeled_ledger.summary()[2].sum() > 0


class Watched:
    """A guide that keeps the sides it is shown."""

    def __init__(self, guide: Guide) -> None:
        self.guide = guide
        self.labeled: list[Side] = []

    def pair(self, labeled: Side, unlabeled: Side, generator: torch.Generator) -> Pairing:
        self.labeled.append(labeled)
        return self.guide.pair(labeled, unlabeled, generator)


@pytest.mark.parametrize(("mixed_branch", "ends_with"), [("with_strong", 1), ("own", 2)])
def test_which_margins_the_mix_uses(mixed_branch: str, ends_with: int) -> None:
    # Mixed before the labeled rows' pass, they can be sorted by previous visits only.
    made, batch, network = objective(mixed_branch=mixed_branch), toy_batch(), toy_network()
    mix = made.calibrator.mixer.mix
    watched = Watched(mix.guide)
    mix.guide = watched
    after = [torch.zeros(len(batch.labeled))]
    for step in (50, 51):
        made(network, batch, toy_clock(step)).total().backward()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter -= parameter.grad
        after.append(mix.labeled_ledger.read(batch.labeled.index))
    assert not torch.allclose(after[1], after[2])
    assert torch.equal(watched.labeled[1].margins, after[ends_with])
    assert torch.equal(watched.labeled[0].margins, after[ends_with - 1])


def test_anchored_targets_name_the_true_class_first() -> None:
    made = objective(preset="anchored")
    batch, network = toy_batch(), toy_network()
    step = StepOutput(batch=batch, forward=Passes(network)).run(batch.unlabeled.weak, grad=False)
    step = made._with_pseudo(step, batch.unlabeled).run(batch.labeled, batch.unlabeled.strong)
    for moment in range(50, 70):
        mixed = made.calibrator.mixer(step, toy_clock(moment))
        own = (mixed.rows.targets * mixed.first.targets).sum(1)
        assert own.min() >= 0.5 - 1e-6


def test_supervised_mixes_labeled_rows_with_each_other() -> None:
    made = Supervised(combine([calibratemix(toy_facts(unlabeled=0), warmup_steps=0)]))
    outcome = made(toy_network(), toy_batch(), toy_clock())
    assert set(outcome.losses) == {"labeled", "mixed"}
    assert set(made.calibrator.ledgers) == {"labeled"}


def test_readings_say_how_many_partners_are_wrong() -> None:
    batch, network = toy_batch(), toy_network()
    made = objective()
    readings = made(network, batch, toy_clock()).readings
    assert 0 <= readings["wrong_partners"] <= 1
    assert readings["margin_unlabeled_easy"] >= readings["margin_unlabeled_hard"]
    assert readings["margin_labeled_easy"] >= readings["margin_labeled_hard"]


def test_the_averaged_network_can_measure_dissimilarity() -> None:
    calibrator = combine([calibratemix(toy_facts(), warmup_steps=0, space="averaged-features")])
    algorithm = fixmatch(toy_facts(), threshold=0.3)
    other = toy_network(seed=5)
    made = SemiSupervised(algorithm, calibrator, averaged=other)
    assert calibrator.reads_average
    assert torch.isfinite(made(toy_network(), toy_batch(), toy_clock()).total())
    assert not any(name.startswith("averaged") for name in made.state_dict())
    without = SemiSupervised(algorithm, calibrator)
    with pytest.raises(BadInput, match="averaging_decay"):
        without(toy_network(), toy_batch(), toy_clock())


def test_the_mixed_loss_is_the_mean_over_all_mixed_rows() -> None:
    made = objective()
    batch, network = toy_batch(), toy_network()
    step = StepOutput(batch=batch, forward=Passes(network)).run(batch.unlabeled.weak, grad=False)
    step = made._with_pseudo(step, batch.unlabeled).run(batch.labeled, batch.unlabeled.strong)
    step = mixed_late(step, made.calibrator.mixer, toy_clock())
    logits = step.activations["mixed"].logits
    expected = F.cross_entropy(logits, step.mixed.rows.targets)
    assert mixed_loss(step, {}).item() == pytest.approx(expected.item(), abs=1e-6)


def test_a_kind_without_pairs_costs_nothing_and_leaves_the_other_its_mean() -> None:
    # All labeled margins equal and split at the median: nobody is hard, so every anchor is easy.
    mix = calibratemix(toy_facts(), warmup_steps=0, split="median", mix_mean="each").mixer.mix
    found = torch.tensor([True, False, True, False])
    group = torch.tensor([0, 1, 0, 1])
    zeros = torch.zeros(4, dtype=torch.int64)
    pairing = Pairing(
        first=zeros,
        second=zeros,
        gamma=torch.ones(4),
        # What Guide gives: a mean over the pairs there are.
        weight=torch.tensor([2.0, 0, 2, 0]),
        group=group,
        found=found,
        easy=torch.ones(28, dtype=torch.bool),
    )
    losses = torch.tensor([1.0, 7, 3, 7])
    assert (losses * mix.loss_weight(pairing)).mean().item() == pytest.approx(2.0)
