"""Conventions: how each package and each paper's code defines the metrics, by name.

Three bin rules, five adaptive ECEs, three Brier scales and two clipped log losses are in use. Every
number here has a default, and `like="torchmetrics"` computes it as that package does. Deciding in
which bin a value falls is done in float64; packages that round edges to float32 differ for values
on an edge.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

import numpy as np
from jaxtyping import Float

from mixcal.core.errors import BadInput
from mixcal.judging.metrics.equal_mass import Adaptive
from mixcal.judging.metrics.partition import Closed, Partition
from mixcal.judging.metrics.scores import Scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """What one package or paper means by each metric; the defaults are ours."""

    name: str
    about: str
    bins: int = 15
    closed: Closed = "right"
    ones_apart: bool = False
    # `bins` means that many edges: one bin fewer, and exact zeros in a bin of their own.
    bins_are_edges: bool = False
    adaptive: Adaptive = "rank"
    classwise: Literal["mean", "sum"] = "mean"
    # A probability of exactly 0 falls into no bin.
    zeros_dropped: bool = False
    mce_weighted: bool = False
    oe_weighted: bool = False
    singletons: bool = False
    brier: Scale | Literal["half for two"] = "sum"
    nll_clipped: bool = False
    aurc: Literal["mean", "trapezoids"] = "mean"

    def partition(self, bins: int) -> Partition:
        """The bins of top-label metrics."""
        if self.bins_are_edges:
            return Partition((0.0, *np.linspace(0, 1, bins).tolist()))
        return Partition.equal(bins, self.closed, self.ones_apart)

    def classwise_partition(self, bins: int) -> Partition:
        """The bins of classwise metrics; with `zeros_dropped` the first holds the exact zeros."""
        if self.zeros_dropped:
            return Partition((0.0, *np.linspace(0, 1, bins + 1).tolist()))
        return self.partition(bins)

    def brier_scale(self, classes: int) -> float:
        """What the sum over classes is divided by."""
        return {"sum": 1, "half": 2, "mean": classes, "half for two": 1 + (classes == 2)}[
            self.brier
        ]

    def log_losses(
        self, exact: Float[np.ndarray, " n"], scores: np.dtype
    ) -> Float[np.ndarray, " n"]:
        """Clipped, if at all, at the smallest step of the scores' type."""
        if not self.nll_clipped:
            return exact
        smallest = float(np.finfo(scores).eps)
        return np.clip(exact, -np.log1p(-smallest), -np.log(smallest))


CONVENTIONS = (
    Convention(name="mixcal", about="(lo, hi], ties together, sums over classes, nothing clipped"),
    Convention(
        name="torchmetrics",
        about="1.9.0: [lo, hi), and exactly 1.0 in a further bin",
        closed="left",
        ones_apart=True,
        adaptive="split",
        singletons=True,
    ),
    Convention(
        name="torch-uncertainty",
        about="0.13.0: as torchmetrics; adaptive by sort and cut; AURC by trapezoids",
        closed="left",
        ones_apart=True,
        adaptive="split",
        singletons=True,
        aurc="trapezoids",
    ),
    Convention(
        name="probmetrics",
        about="1.3.0: torchmetrics' ECE and MCE",
        closed="left",
        ones_apart=True,
        singletons=True,
    ),
    Convention(
        name="relplot",
        about="1.0.3: binned ECE with [lo, hi) and exactly 1.0 in a further bin; smooth ECE",
        closed="left",
        ones_apart=True,
    ),
    Convention(
        name="netcal",
        about="1.4.0: [lo, hi) with 1.0 in the last; adaptive by interpolated quantiles",
        closed="left",
        adaptive="quantile",
    ),
    Convention(
        name="uncertainty-calibration",
        about="0.1.4: (lo, hi]; adaptive by edges half way between runs",
        adaptive="midpoint",
    ),
    Convention(
        name="scikit-learn",
        about="1.9.1: (lo, hi]; Brier halved for two classes; log loss clipped",
        adaptive="percentile",
        brier="half for two",
        nll_clipped=True,
    ),
    Convention(
        name="mapie",
        about="1.6.0: (lo, hi], and num_bins is the number of edges: 15 makes 14 bins",
        bins_are_edges=True,
        adaptive="least_apart",
    ),
    Convention(
        name="focal-calibration",
        about="475422a and MbLS: (lo, hi]; adaptive drops the least confident sample; classwise "
        "drops exact zeros",
        adaptive="interp",
        zeros_dropped=True,
    ),
    Convention(
        name="rankmixup",
        about="e5dc77f and CSM's code c8fb26e: as focal-calibration; OE and UE times confidence",
        adaptive="interp",
        zeros_dropped=True,
        oe_weighted=True,
    ),
    Convention(
        name="proximity-bias",
        about="[lo, hi); the MCE is the largest share · gap",
        closed="left",
        adaptive="quantile",
        mce_weighted=True,
    ),
    Convention(
        name="calibratemix",
        about="the released evaluation: [lo, hi) with 1.0 in the last, 10 bins",
        bins=10,
        closed="left",
    ),
    Convention(
        name="pycalib",
        about="(lo, hi]; classwise ECE sums over classes; Brier is the mean over classes",
        classwise="sum",
        brier="mean",
    ),
)


def convention(like: str) -> Convention:
    """The convention of this name; - and _ and capitals do not matter."""
    wanted = like.lower().replace("_", "-")
    for candidate in CONVENTIONS:
        if candidate.name == wanted:
            return candidate
    names = [candidate.name for candidate in CONVENTIONS]
    near = get_close_matches(wanted, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names)}."
    raise BadInput(f"There is no convention {like!r}; {hint}")
