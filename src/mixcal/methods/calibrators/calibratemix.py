"""CalibrateMix (Rahman, Mohan, Sosea & Caragea, AAAI 2026; arXiv:2511.12964v1).

    L = L_labeled + λ_u L_unlabeled + L_mixed                                        (equation 10)

Easy labeled rows are mixed with hard pseudo-labeled ones and hard with easy ones; difficulty is the
average margin over the run. `preset = "paper"` is as in the paper, where it is silent as its code.
`preset = "official"` is what the published code does: everything in two passes whose base losses
both count, binary cross-entropy on the mixes, 15 candidates, 150,000 steps of warm-up during which
no pseudo-margins are gathered. `preset = "anchored"` is ours: the labeled member keeps at least
half of every mix. Each single point is a knob of its own; None means: as the preset says.

With supervised training there are no pseudo-labels, and easy labeled rows meet hard labeled ones;
the paper reports such runs without saying how they are made, so this, too, is ours.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.core.outcome import Outcome
from mixcal.core.protocols import Calibrator, Criterion, Joins, Part
from mixcal.core.quantities import Amount, Positive, PositiveShare, Share, Size
from mixcal.core.rows import Rows
from mixcal.core.step import Mixed, StepOutput
from mixcal.methods.calibrators.calibratemix_options import (
    PRESETS,
    Preset,
    chosen,
    joins_of,
    warmup_of,
)
from mixcal.methods.dynamics.ledger import Average, Precision
from mixcal.methods.dynamics.tables import Kind
from mixcal.methods.losses.binary_cross_entropy import binary_cross_entropy
from mixcal.methods.mixing.calibrate_mix import CalibrateMix
from mixcal.methods.mixing.coefficients import Draw
from mixcal.methods.mixing.guided import Guide, Pairs
from mixcal.methods.mixing.pairs import images_only
from mixcal.methods.mixing.partners import Dissimilarity

Space = Literal["pixels", "features", "averaged-features"]


class GuidedMixer(torch.nn.Module):
    """CalibrateMix at work within a step of mixcal's own objectives."""

    def __init__(self, mix: CalibrateMix, joins: Joins, space: Space) -> None:
        super().__init__()
        self.mix = mix
        self.joins: Joins = joins
        self.space = space

    def forward(self, step: StepOutput, clock: Clock) -> Mixed | None:
        """The mixed rows of this step; None during warm-up."""
        batch, labeled = step.batch, step.batch.labeled
        found = step.activations.get("labeled")
        if found is not None:
            self.mix.remember_labeled(found.logits, labeled.targets.argmax(1), labeled.index)
        views = batch.unlabeled
        if views is not None and step.pseudo is not None:
            logits = step.activations["weak"].logits.detach()
            self.mix.remember_unlabeled(logits, views.weak.index, clock.step)
        if clock.step < self.mix.warmup_steps:
            return None
        weak = None if views is None else views.weak
        sides = [labeled] if weak is None else [labeled, weak]
        compared = [self._compared(step, side) for side in sides]
        seen, pairing = self.mix.paired(labeled, weak, step.pseudo, compared, clock.generator)
        mixed = self.mix.blended(seen, pairing)
        hidden = None if views is None else views.hidden_labels
        readings = self.mix.readings(step, pairing, hidden, len(labeled))
        return Mixed(
            rows=mixed,
            first=seen.take(pairing.first),
            second=seen.take(pairing.second),
            image_weight=pairing.gamma,
            target_weight=pairing.gamma,
            loss_weight=self.mix.loss_weight(pairing),
            readings=readings,
        )

    def _compared(self, step: StepOutput, rows: Rows) -> Float[Tensor, "n d"]:
        """What dissimilarity is measured on."""
        if self.space == "pixels":
            return rows.inputs.flatten(1)
        if self.space == "averaged-features":
            return step.forward.averaged(rows)[rows.part].features
        return step.activations[rows.part].features.detach()


class LabeledMargins(torch.nn.Module):
    """Remembers the labeled rows' margins when the mixed rows were made before the main pass."""

    def __init__(self, mix: CalibrateMix) -> None:
        super().__init__()
        # Held in a tuple: the mixer registers it, and it must be saved once.
        self._mix = (mix,)

    def forward(self, step: StepOutput, clock: Clock) -> Outcome:
        """Take in this step's labeled logits; no loss."""
        labeled = step.batch.labeled
        logits = step.activations["labeled"].logits
        self._mix[0].remember_labeled(logits, labeled.targets.argmax(1), labeled.index)
        return Outcome()


def calibratemix(
    facts: DataFacts,
    *,
    preset: Preset = "paper",
    mixed_branch: Literal["own", "with_strong"] | None = None,
    passes: Literal["once", "twice"] | None = None,
    mix_loss: Literal["cross-entropy", "binary"] | None = None,
    mix_mean: Literal["all", "each"] | None = None,
    mix_weight: Size = 1.0,
    warmup_steps: Amount | None = None,
    warmup_fraction: Share | None = None,
    pseudo_margins_in_warmup: bool | None = None,
    k: Size | None = None,
    dissimilarity: Dissimilarity | None = None,
    space: Space | None = None,
    split: Literal["rank", "median"] | None = None,
    median: Literal["batch", "pool"] | None = None,
    alpha: Positive | None = None,
    gamma: Share | None = None,
    draw: Draw | None = None,
    anchor: Literal["none", "labeled"] | None = None,
    pairs: Pairs | None = None,
    pseudo_targets: Literal["hard", "soft"] | None = None,
    weight_by_host: bool | None = None,
    average: Average | None = None,
    delta: Share | None = None,
    rate: PositiveShare | None = None,
    first_visit: Literal[0, 1] | None = None,
    store: Kind = "device",
    precision: Precision = "float32",
) -> Calibrator:
    """CalibrateMix on whatever host the recipe names."""
    knobs = {name: value for name, value in locals().items() if name not in ("facts", "preset")}
    options = chosen(PRESETS[preset], knobs)
    images_only(facts, "CalibrateMix")
    guide = Guide(
        k=options.k,
        dissimilarity=options.dissimilarity,
        split=options.split,
        alpha=options.alpha,
        gamma=options.gamma,
        draw=options.draw,
        anchored=options.anchor == "labeled",
        pairs=options.pairs,
    )
    mix = CalibrateMix(
        classes=facts.classes,
        labeled=facts.labeled,
        unlabeled=facts.unlabeled,
        guide=guide,
        warmup_steps=warmup_of(options, facts),
        pseudo_margins_in_warmup=options.pseudo_margins_in_warmup,
        pool_median=options.median == "pool",
        soft_targets=options.pseudo_targets == "soft",
        weight_by_host=options.weight_by_host,
        mix_weight=mix_weight,
        mean_of_each=options.mix_mean == "each",
        average=options.average,
        delta=options.delta,
        rate=options.rate,
        first_visit=options.first_visit,
        store=store,
        precision=precision,
        facts=facts,
    )
    joins = joins_of(options, facts)
    if joins == "with_strong" and options.space == "features":
        raise BadInput(
            'Dissimilarity of features needs mixed_branch = "own": before the main pass the '
            "labeled rows have none."
        )
    criteria: dict[Part, Criterion] = {}
    if options.mix_loss == "binary":
        criteria["mixed"] = binary_cross_entropy
    ledgers = {"labeled": mix.labeled_ledger}
    if mix.unlabeled_ledger is not None:
        ledgers["unlabeled"] = mix.unlabeled_ledger
    late = {"labeled_margins": LabeledMargins(mix)} if joins == "with_strong" else {}
    return Calibrator(
        criteria=criteria,
        mixer=GuidedMixer(mix, joins, options.space),
        terms=late,
        ledgers=ledgers,
        reads_average=options.space == "averaged-features",
    )
