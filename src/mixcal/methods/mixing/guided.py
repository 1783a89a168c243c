"""Guided mixing: easy rows with hard ones, most dissimilar first (CalibrateMix,
arXiv:2511.12964v1, equations 6 to 9).

    x̃ = γ x_first + (1 − γ) x_second,   ỹ likewise

First members are labeled rows wherever there are any; a first member that is easy meets a second
that is hard and the other way round. As in the paper where the options of the preset "paper" are
taken; each option says what it changes.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from mixcal.methods.mixing.coefficients import Draw, coefficients
from mixcal.methods.mixing.difficulty import is_easy
from mixcal.methods.mixing.partners import Dissimilarity, dissimilar_partners, similarities

Pairs = Literal["across", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Rows that may be mixed: what is blended, their targets, what they are compared by, margins.

    `weights` is what a mix with this row counts, times what the other member says; `threshold` a
    margin that stands in for the batch's median.
    """

    inputs: Shaped[Tensor, "n ..."]
    targets: Float[Tensor, "n k"]
    compared: Float[Tensor, "n d"]
    margins: Float[Tensor, " n"]
    weights: Float[Tensor, " n"]
    threshold: Float[Tensor, ""] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Which first member meets which second, with what coefficient and what weight.

    Positions count through both sides, the labeled rows first. `group` numbers the kinds of mix;
    `found` says which first members had anybody to meet: the others weigh nothing.
    """

    first: Int[Tensor, " p"]
    second: Int[Tensor, " p"]
    gamma: Float[Tensor, " p"]
    weight: Float[Tensor, " p"]
    group: Int[Tensor, " p"]
    found: Bool[Tensor, " p"]
    easy: Bool[Tensor, " b"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide:
    """How pairs are chosen and blended."""

    k: float = 0.05
    dissimilarity: Dissimilarity = "cosine"
    split: Literal["rank", "median"] = "rank"
    alpha: float = 0.4
    gamma: float | None = None
    draw: Draw = "group"
    # The labeled member keeps at least half of the mix: γ ← max(γ, 1 − γ). Ours.
    anchored: bool = False
    pairs: Pairs = "across"

    def pair(self, labeled: Side, unlabeled: Side | None, generator: torch.Generator) -> Pairing:
        """Every labeled row with a partner of the other difficulty, and more for "all"."""
        sides = [labeled] if unlabeled is None else [labeled, unlabeled]
        easy = torch.cat(
            [is_easy(s.margins, split=self.split, threshold=s.threshold) for s in sides]
        )
        compared = torch.cat([side.compared for side in sides])
        here = len(labeled.margins)
        first, allowed, group = self._anchors(easy, here, generator)
        similarity = similarities(compared[first], compared, kind=self.dissimilarity)
        fate = torch.rand(len(first), generator=generator).to(first.device, non_blocking=True)
        second, found = dissimilar_partners(similarity, allowed, k=self.k, fate=fate)
        gamma = coefficients(
            self.alpha, group, 4, draw=self.draw, fixed=self.gamma, generator=generator
        )
        if self.anchored:
            gamma = torch.maximum(gamma, 1 - gamma)
        weights = torch.cat([side.weights for side in sides])
        # The mean runs over the pairs that exist: those of an empty side are left out.
        share = found.float() * (len(first) / found.float().sum().clamp(min=1))
        return Pairing(
            first=first,
            second=second,
            gamma=gamma,
            weight=share * (weights[first] * weights[second]),
            group=group,
            found=found,
            easy=easy,
        )

    def _anchors(
        self, easy: Bool[Tensor, " b"], labeled: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, " p"], Bool[Tensor, "p b"], Int[Tensor, " p"]]:
        """First members, whom each may meet, and the kind of mix: easy or hard first, across or
        within."""
        device = easy.device
        first = torch.arange(labeled, device=device)
        is_labeled = torch.arange(len(easy), device=device) < labeled
        within = is_labeled if len(easy) == labeled else ~is_labeled
        allowed = (easy[first, None] != easy) & within
        group = (~easy[first]).long()
        if self.pairs != "all" or len(easy) == labeled:
            return first, allowed, group
        # "mixup all": also easy with hard labeled rows, and easy with hard unlabeled ones, half as
        # many of each as there are labeled rows. Ours: the paper does not say how many.
        half = labeled // 2
        top = (easy & is_labeled).float().argsort(descending=True, stable=True)[:half]
        chance = torch.rand(len(easy) - labeled, generator=generator).to(device, non_blocking=True)
        rest = labeled + (chance + easy[labeled:].float()).argsort(descending=True)[:half]
        more = torch.cat([top, rest])
        same = is_labeled[more, None] == is_labeled
        return (
            torch.cat([first, more]),
            torch.cat([allowed, (easy[more, None] != easy) & same]),
            torch.cat([group, torch.full_like(top, 2), torch.full_like(rest, 3)]),
        )


def blend(pairing: Pairing, rows: Shaped[Tensor, "b ..."]) -> Shaped[Tensor, "p ..."]:
    """γ first + (1 − γ) second of these rows."""
    shape = (-1,) + (1,) * (rows.ndim - 1)
    first, second = rows.index_select(0, pairing.first), rows.index_select(0, pairing.second)
    return torch.lerp(second, first, pairing.gamma.view(shape))


def wrong_share(
    labels: Int[Tensor, " u"],
    hidden: Int[Tensor, " u"],
    first: Int[Tensor, " p"],
    second: Int[Tensor, " p"],
    *,
    labeled: int,
    found: Bool[Tensor, " p"] | None = None,
) -> Float[Tensor, ""]:
    """The share of pairs with a wrong pseudo-label, among those whose truth is known.

    Positions count through both sides, the labeled rows first. NaN where no truth is known at all.
    """
    right = torch.zeros(labeled, dtype=torch.bool, device=labels.device)
    wrong, unknown = torch.cat([right, labels != hidden]), torch.cat([right, hidden < 0])
    counted = ~(unknown[first] | unknown[second])
    if found is not None:
        counted = counted & found
    share = ((wrong[first] | wrong[second]) & counted).sum() / counted.sum()
    return share.masked_fill((hidden < 0).all(), float("nan"))
