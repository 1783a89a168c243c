"""How uncertain training labels are: the distribution of their entropy.

    H = −λ ln λ − (1 − λ) ln (1 − λ),      λ ~ Beta(α, α),      where the two classes differ

As in Figure 5 of Thulasidasan et al. (NeurIPS 2019; arXiv:1905.11001v5), but the masses of the bins
are exact, from the distribution function of Beta(α, α), and not counted from draws.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from mixcal.core.errors import BadInput
from mixcal.judging.plots.canvas import legend, percents, say, series, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELLS = 30
HALVINGS = 60


def draw_label_entropy(
    alphas: Mapping[str, float] | None = None,
    measured: Mapping[str, Float[np.ndarray, "n k"]] | None = None,
    *,
    title: str = "Entropy of the labels",
    cells: int = CELLS,
) -> "Figure":
    """One outline a mixing parameter α, and one a set of label distributions."""
    alphas, measured = alphas or {}, measured or {}
    if not alphas and not measured:
        raise BadInput("There are no labels to draw; give --alpha, or soft labels.")
    entropies = {name: label_entropies(rows) for name, rows in measured.items()}
    highest = max([math.log(2), *(float(found.max()) for found in entropies.values())])
    edges = np.linspace(0, highest, cells + 1)
    figure, axes = sheet(5.6, 3.6)
    one = axes[0, 0]
    drawn = {
        f"{name}: mean {mean_mixed_entropy(alpha):.3f}": mixed_entropy_masses(alpha, edges)
        for name, alpha in alphas.items()
    } | {
        f"{name}: mean {found.mean():.3f}, n = {len(found):,}": np.histogram(found, edges)[0]
        / len(found)
        for name, found in entropies.items()
    }
    for place, (name, masses) in enumerate(drawn.items()):
        one.stairs(masses, edges, fill=True, color=series(place), alpha=0.12, linewidth=0)
        one.stairs(masses, edges, color=series(place), linewidth=1.7, label=name)
    percents(one.yaxis)
    one.set_xlim(0, highest)
    note = "two classes mixed by Beta(α, α), in nats" if not measured else "in nats"
    say(one, title=title, note=note, x="entropy of a label", y="labels")
    legend(one, "upper center")
    return figure


def label_entropies(rows: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " n"]:
    """−Σ q ln q of each distribution."""
    wide = rows.astype(np.float64)
    if not len(wide) or wide.min() < 0 or np.abs(wide.sum(1) - 1).max() > 1e-3:
        raise BadInput("Label distributions must be non-negative rows that sum to one; mend them.")
    # −0.0 of a hard label would be drawn left of the first edge's zero.
    return np.abs((wide * np.log(np.maximum(wide, 1e-300))).sum(1))


def mixed_entropy_masses(alpha: float, edges: Float[np.ndarray, " e"]) -> Float[np.ndarray, " c"]:
    """P(edge ≤ H < next edge) for λ ~ Beta(α, α): twice what the smaller share has there."""
    share = smaller_share(np.minimum(edges, math.log(2)))
    return np.diff(2 * _beta_distribution(alpha, share))


def mean_mixed_entropy(alpha: float) -> float:
    """E H = ψ(2α + 1) − ψ(α + 1)."""
    _check_alpha(alpha)
    from scipy.special import digamma

    return float(digamma(2 * alpha + 1) - digamma(alpha + 1))


def smaller_share(entropy: Float[np.ndarray, " e"]) -> Float[np.ndarray, " e"]:
    """The λ ≤ 1/2 of this entropy, by bisection."""
    low, high = np.zeros_like(entropy), np.full_like(entropy, 0.5)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        found = -middle * np.log(middle) - (1 - middle) * np.log1p(-middle)
        low, high = np.where(found < entropy, middle, low), np.where(found < entropy, high, middle)
    low[entropy <= 0], low[entropy >= math.log(2)] = 0.0, 0.5
    return low


def _beta_distribution(alpha: float, at: Float[np.ndarray, " e"]) -> Float[np.ndarray, " e"]:
    """P(λ ≤ x)."""
    _check_alpha(alpha)
    from scipy.special import betainc

    return betainc(alpha, alpha, at)


def _check_alpha(alpha: float) -> None:
    if not alpha > 0:
        raise BadInput(f"α = {alpha:g}: Beta(α, α) needs a positive α; with 0 nothing is mixed.")
