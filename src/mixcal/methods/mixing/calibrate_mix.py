"""CalibrateMix as a part for any training loop: two margin ledgers and guided mixing
(arXiv:2511.12964v1).

    mix = CalibrateMix(classes=10, labeled=40, unlabeled=50_000, warmup_steps=10_000)
    mixed = mix.step(step, labeled=..., unlabeled=..., generator=...)

See examples/calibratemix_in_plain_pytorch.py for the thirty lines around it, and
examples/calibratemix_in_lightning.py for the same in a LightningModule.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.core.rows import Rows
from mixcal.core.step import Pseudo, StepOutput
from mixcal.methods.dynamics.ledger import Average, MarginLedger, Precision
from mixcal.methods.dynamics.margins import label_margins, pseudo_margins
from mixcal.methods.dynamics.tables import Kind
from mixcal.methods.mixing.guided import Guide, Pairing, Side, blend, wrong_share


@dataclass(frozen=True, slots=True)
class MixedBatch:
    """What a foreign loop trains on: the loss is the mean over the rows of weight times loss.

    Weights are ones, unless some rows found no partner, hosts weigh, or `mix_weight` or
    `mean_of_each` say otherwise.
    """

    inputs: Shaped[Tensor, "p ..."]
    targets: Float[Tensor, "p k"]
    weights: Float[Tensor, " p"]


class CalibrateMix(nn.Module):
    """Remembers margins, and mixes easy rows with hard ones once the warm-up is over."""

    # Buffer, for a pool's median: the average margin of each unlabeled sample at its pseudo-label
    # of the last visit that was remembered.
    latest: Tensor

    def __init__(
        self,
        *,
        classes: int,
        labeled: int,
        unlabeled: int = 0,
        guide: Guide | None = None,
        warmup_steps: int = 102_400,
        pseudo_margins_in_warmup: bool = True,
        pool_median: bool = False,
        soft_targets: bool = False,
        weight_by_host: bool = False,
        mix_weight: float = 1.0,
        mean_of_each: bool = False,
        average: Average = "decayed",
        delta: float = 0.997,
        rate: float = 0.1,
        first_visit: int = 0,
        store: Kind = "device",
        precision: Precision = "float32",
        facts: DataFacts | None = None,
    ) -> None:
        super().__init__()
        self.guide = guide or Guide()
        self.warmup_steps = warmup_steps
        self.pseudo_margins_in_warmup = pseudo_margins_in_warmup
        self.pool_median = pool_median
        self.soft_targets = soft_targets
        self.weight_by_host = weight_by_host
        self.mix_weight = mix_weight
        self.mean_of_each = mean_of_each
        self.labeled_ledger = MarginLedger(labeled)
        self.unlabeled_ledger: MarginLedger | None = None
        if unlabeled:
            self.unlabeled_ledger = MarginLedger(
                unlabeled,
                classes,
                average=average,
                delta=delta,
                rate=rate,
                first_visit=1 if first_visit else 0,
                store=store,
                precision=precision,
                facts=facts,
                name="unlabeled",
            )
        if pool_median:
            self.register_buffer("latest", torch.full((unlabeled,), float("nan")))

    def remember_labeled(
        self, logits: Float[Tensor, "n k"], labels: Int[Tensor, " n"], index: Int[Tensor, " n"]
    ) -> None:
        """The area under the margin of the labeled rows of this step, this step included."""
        margins = label_margins(logits.detach(), labels)
        self.labeled_ledger.update(margins[:, None], index)

    def remember_unlabeled(
        self, logits: Float[Tensor, "n k"], index: Int[Tensor, " n"], step: int
    ) -> None:
        """The pseudo-margins of the weak rows of this step, this step included."""
        if self.unlabeled_ledger is None:
            return
        if step < self.warmup_steps and not self.pseudo_margins_in_warmup:
            return
        self.unlabeled_ledger.update(pseudo_margins(logits.detach()), index)
        if self.pool_median:
            self.latest.index_copy_(0, index, self.unlabeled_ledger.read(index, logits.argmax(1)))

    def labeled_side(self, rows: Rows, compared: Float[Tensor, "n d"]) -> Side:
        """The labeled rows as they may be mixed."""
        margins = self.labeled_ledger.read(rows.index)
        threshold = None
        if self.pool_median:
            threshold = self.labeled_ledger.median()
        return Side(
            inputs=rows.inputs,
            targets=rows.targets,
            compared=compared,
            margins=margins,
            weights=torch.ones_like(margins),
            threshold=threshold,
        )

    def unlabeled_side(self, rows: Rows, pseudo: Pseudo, compared: Float[Tensor, "n d"]) -> Side:
        """The weak rows with their pseudo-labels as they may be mixed."""
        if self.unlabeled_ledger is None:
            raise BadInput("This CalibrateMix was made for no unlabeled samples; say how many.")
        margins = self.unlabeled_ledger.read(rows.index, pseudo.labels)
        threshold = None
        if self.pool_median:
            threshold = self.latest.nanmedian()
        weights = pseudo.weights if self.weight_by_host else torch.ones_like(margins)
        return Side(
            inputs=rows.inputs,
            targets=self.pseudo_targets_of(pseudo),
            compared=compared,
            margins=margins,
            weights=weights,
            threshold=threshold,
        )

    def pseudo_targets_of(self, pseudo: Pseudo) -> Float[Tensor, "n k"]:
        """What a pseudo-labeled member brings into a mix."""
        return pseudo.probs if self.soft_targets else pseudo.targets

    def blended(self, rows: Rows, pairing: Pairing) -> Rows:
        """The mixed rows; `rows` holds both sides, the labeled ones first."""
        return Rows(
            inputs=blend(pairing, rows.inputs),
            targets=blend(pairing, rows.targets),
            index=rows.index.index_select(0, pairing.first),
            part="mixed",
        )

    def loss_weight(self, pairing: Pairing) -> Float[Tensor, " p"]:
        """What each mixed row counts in a mean over all of them."""
        weight = pairing.weight * self.mix_weight
        if not self.mean_of_each:
            return weight
        # A mean over each kind of mix, added: each row counts pairs / pairs of its kind. Anchors
        # that found nobody are no pairs, and weigh nothing already.
        found = pairing.found.float()
        sizes = torch.zeros(4, device=weight.device).index_add_(0, pairing.group, found)
        return weight * (found.sum() / sizes[pairing.group].clamp(min=1))

    def readings(
        self,
        step: StepOutput,
        pairing: Pairing,
        hidden_labels: Int[Tensor, " n"] | None,
        labeled: int,
    ) -> Mapping[str, Float[Tensor, ""]]:
        """Margins of easy and hard rows, and how many mixes have a wrong pseudo-label in them."""
        margins = self.labeled_ledger.read(step.batch.labeled.index)
        easy = pairing.easy[:labeled].float()
        found = {
            "margin_labeled_easy": (margins * easy).sum() / easy.sum(),
            "margin_labeled_hard": (margins * (1 - easy)).sum() / (1 - easy).sum(),
        }
        if hidden_labels is None or step.pseudo is None or self.unlabeled_ledger is None:
            return found
        assert step.batch.unlabeled is not None
        weak = step.batch.unlabeled.weak
        margins = self.unlabeled_ledger.read(weak.index, step.pseudo.labels)
        easy = pairing.easy[labeled:].float()
        return found | {
            "margin_unlabeled_easy": (margins * easy).sum() / easy.sum(),
            "margin_unlabeled_hard": (margins * (1 - easy)).sum() / (1 - easy).sum(),
            "wrong_partners": wrong_share(
                step.pseudo.labels,
                hidden_labels,
                pairing.first,
                pairing.second,
                labeled=labeled,
                found=pairing.found,
            ),
        }

    def paired(
        self,
        labeled: Rows,
        weak: Rows | None,
        pseudo: Pseudo | None,
        compared: Sequence[Float[Tensor, "_ d"]],
        generator: torch.Generator,
    ) -> tuple[Rows, Pairing]:
        """All rows as they may be mixed, and who meets whom; `compared` is one for each side."""
        here = self.labeled_side(labeled, compared[0])
        if weak is None or pseudo is None:
            return labeled, self.guide.pair(here, None, generator)
        there = self.unlabeled_side(weak, pseudo, compared[1])
        rows = Rows(
            inputs=torch.cat([labeled.inputs, weak.inputs]),
            targets=torch.cat([labeled.targets, there.targets]),
            index=torch.cat([labeled.index, weak.index]),
            part="mixed",
        )
        return rows, self.guide.pair(here, there, generator)

    @torch.no_grad()
    def step(
        self,
        step: int,
        *,
        labeled: tuple[Tensor, Tensor, Tensor, Tensor],
        unlabeled: tuple[Tensor, Tensor, Tensor] | None = None,
        generator: torch.Generator,
        host_weights: Float[Tensor, " u"] | None = None,
        features: Sequence[Float[Tensor, "_ d"]] | None = None,
    ) -> MixedBatch | None:
        """For a loop of one's own: remember this step's margins and mix; None during warm-up.

        `labeled` is (inputs, target distributions, index, logits), `unlabeled` (weak inputs, index,
        weak logits), or None for supervised training; the logits are of this step's training-mode
        pass. `host_weights`: how much the host counts each unlabeled row, for `weight_by_host`.
        `features`, of labeled and of weak rows, take the place of pixels in dissimilarity.
        """
        if self.weight_by_host and unlabeled is not None and host_weights is None:
            raise BadInput(
                "CalibrateMix with weight_by_host needs the host's weights: give step() "
                "host_weights, one number for each unlabeled row."
            )
        inputs, targets, index, logits = labeled
        self.remember_labeled(logits, targets.argmax(1), index)
        if unlabeled is not None:
            self.remember_unlabeled(unlabeled[2], unlabeled[1], step)
        if step < self.warmup_steps:
            return None
        weak = pseudo = None
        sides = [inputs]
        if unlabeled is not None:
            weak, pseudo = _hard(*unlabeled, host_weights)
            sides.append(weak.inputs)
        rows, pairing = self.paired(
            Rows(inputs=inputs, targets=targets, index=index, part="labeled"),
            weak,
            pseudo,
            [side.flatten(1) for side in features or sides],
            generator,
        )
        mixed = self.blended(rows, pairing)
        return MixedBatch(mixed.inputs, mixed.targets, self.loss_weight(pairing))


def _hard(
    inputs: Tensor, index: Tensor, logits: Tensor, weights: Float[Tensor, " u"] | None
) -> tuple[Rows, Pseudo]:
    """Weak rows with hard pseudo-labels, all of weight one unless the host says otherwise."""
    probs = logits.softmax(1)
    labels = probs.argmax(1)
    targets = torch.zeros_like(probs).scatter_(1, labels[:, None], 1.0)
    weights = torch.ones_like(probs[:, 0]) if weights is None else weights
    pseudo = Pseudo(targets=targets, labels=labels, weights=weights, probs=probs)
    return Rows(inputs=inputs, targets=targets, index=index, part="weak"), pseudo
