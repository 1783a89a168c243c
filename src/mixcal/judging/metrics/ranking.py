"""Numbers from the order of confidences: no bins, and the order of tied samples does not matter.

    KS      max_k |Σ_{i ≤ k} (right_i − c_i)| / n over samples in order of confidence
            (Gupta et al., ICLR 2021; arXiv:2006.12800v3, section 4.1)
    Kuiper  the range of the same curve with 0 included (Arrieta-Ibarra et al., JMLR 2022;
            arXiv:2205.09680v3)
    AURC    mean over k of the error rate among the k most confident (Geifman, Uziel & El-Yaniv,
            ICLR 2019; arXiv:1805.08206v4)
    AUROC   how often a right prediction is more confident than a wrong one, ties one half

As in the papers, but within a tie the AURC is the mean over all orders, and the curves of KS and
Kuiper are read only where the confidence changes. `ties="as given"` takes tied samples in the order
they come in, as short implementations do: then that order decides the number.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float, Int, Shaped

from mixcal.judging.metrics.few_mistakes import widened_by_rate
from mixcal.judging.metrics.intervals import Estimate, normal_quantile, share_interval
from mixcal.judging.metrics.inversion import largest_absolute, norm_interval, normal_draws

Ties = Literal["together", "as given"]
CELLS = 400


def cumulative_gaps(
    confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"], ties: Ties = "together"
) -> tuple[Float[np.ndarray, " v"], Float[np.ndarray, " v"]]:
    """Each confidence that occurs, ascending, and Σ (right − confidence) / n up to it."""
    order = np.argsort(confidence, kind="stable")
    ordered = confidence[order].astype(np.float64)
    sums = np.cumsum(right[order] - ordered) / len(ordered)
    if ties == "as given":
        return ordered, sums
    last = np.flatnonzero(np.append(np.diff(ordered) > 0, True))
    return ordered[last], sums[last]


def kolmogorov_smirnov_error(
    confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"], ties: Ties = "together"
) -> float:
    """The largest |cumulative gap|."""
    return float(np.abs(cumulative_gaps(confidence, right, ties)[1]).max())


def kuiper_error(
    confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"], ties: Ties = "together"
) -> float:
    """The range of the cumulative gap, 0 included."""
    sums = cumulative_gaps(confidence, right, ties)[1]
    return float(max(sums.max(), 0.0) - min(sums.min(), 0.0))


def kolmogorov_smirnov_interval(
    confidence: Float[np.ndarray, " n"],
    right: Shaped[np.ndarray, " n"],
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """KS and its interval, by the inversion of sums over some hundred runs of samples.

    A run ends where the confidence changes, so the order of tied samples decides nothing.
    """
    value = kolmogorov_smirnov_error(confidence, right)
    order = np.argsort(confidence)
    ordered = confidence[order].astype(np.float64)
    gap = (right[order] - ordered) / len(order)
    firsts = np.flatnonzero(np.append(True, np.diff(ordered) > 0))
    squares, gap = np.add.reduceat(gap * gap, firsts), np.add.reduceat(gap, firsts)
    starts = _even_starts(firsts, len(order))
    field = np.cumsum(np.add.reduceat(gap, starts))
    squares = np.add.reduceat(squares, starts)
    noise = np.cumsum(normal_draws(len(starts), seed=seed) * np.sqrt(squares), axis=1)
    spread = np.sqrt(np.cumsum(squares))
    found = norm_interval(value, field, spread, noise, largest_absolute, level=level)
    found = Estimate(value, found.low, min(found.high, 1.0))
    return widened_by_rate(found, right, level=level)


def _even_starts(firsts: Int[np.ndarray, " v"], n: int) -> Int[np.ndarray, " s"]:
    """At which values the runs start: some hundred, of about equally many samples."""
    wanted = np.linspace(0, n, min(CELLS, n) + 1).astype(np.int64)[:-1]
    return np.unique(np.searchsorted(firsts, wanted, side="right") - 1)


def risk_coverage(
    confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"], ties: Ties = "together"
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Coverage k / n and the error rate of the k most confident, for k = 1 … n.

    Samples of one confidence each carry the mean error of all of them.
    """
    wrong = _by_falling_confidence(confidence, right, ties)[1]
    rank = np.arange(1, len(wrong) + 1)
    return rank / len(wrong), np.cumsum(wrong) / rank


def area_under_risk_coverage(
    confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"], ties: Ties = "together"
) -> float:
    """AURC: the mean of the risks."""
    return float(risk_coverage(confidence, right, ties)[1].mean())


def trapezoids_under_risk_coverage(
    confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"]
) -> float:
    """AURC by trapezoids from coverage 1 / n, divided by 1 − 1 / n; NaN for one sample."""
    coverage, risk = risk_coverage(confidence, right)
    if len(risk) < 2:
        return float("nan")
    return float(np.trapezoid(risk, coverage) / (1 - 1 / len(risk)))


def risk_coverage_interval(
    confidence: Float[np.ndarray, " n"],
    right: Shaped[np.ndarray, " n"],
    *,
    level: float = 0.95,
) -> Estimate:
    """AURC with the normal interval from its influence function.

    Where all are right, or all wrong, any order gives the error rate: the interval is that rate's.
    """
    hits = int(right.sum())
    if hits in (0, len(right)):
        return share_interval(len(right) - hits, len(right), level=level)
    value, influence = risk_coverage_influence(confidence, right)
    half = normal_quantile(level) * float(np.sqrt((influence**2).mean() / len(influence)))
    return Estimate(value, max(value - half, 0.0), min(value + half, 1.0))


def risk_coverage_influence(
    confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"]
) -> tuple[float, Float[np.ndarray, " n"]]:
    """AURC, and how much each sample, in the order given, moves it; their mean is 0."""
    order, wrong = _by_falling_confidence(confidence, right, "together")
    n = len(order)
    rank = np.arange(1, n + 1)
    risk = np.cumsum(wrong) / rank
    value = float(risk.mean())
    # A sample moves the risk of every coverage that includes it.
    later = np.cumsum((1 / rank)[::-1])[::-1]
    later_risk = np.cumsum((risk / rank)[::-1])[::-1]
    # Tied samples share what comes of their place, as they share their mistakes.
    tied = _runs(confidence[order])
    moved = [_mean_in(tied, part) for part in (risk - later_risk, later)]
    influence = np.empty(n)
    influence[order] = moved[0] + wrong_of(order, right) * moved[1] - value
    return value, influence


def wrong_of(
    order: Int[np.ndarray, " n"], right: Shaped[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """1 where the prediction is wrong, in this order."""
    return 1.0 - right[order].astype(np.float64)


def confidence_auroc(confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"]) -> float:
    """AUROC of confidence for right against wrong; NaN where one of them is missing."""
    hits = right.astype(bool)
    return auroc(confidence[hits], confidence[~hits])


def confidence_auroc_interval(
    confidence: Float[np.ndarray, " n"],
    right: Shaped[np.ndarray, " n"],
    *,
    level: float = 0.95,
) -> Estimate:
    """The AUROC with DeLong's variance on the logit scale."""
    hits = right.astype(bool)
    return auroc_interval(confidence[hits], confidence[~hits], level=level)


def confidence_auroc_influence(
    confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"]
) -> tuple[float, Float[np.ndarray, " n"]]:
    """The AUROC, and how much each sample moves it (DeLong's placements); their mean is 0."""
    hits = right.astype(bool)
    value = confidence_auroc(confidence, right)
    influence = np.full(len(confidence), value)
    if not np.isnan(value):
        above = _placements(confidence[hits], confidence[~hits])
        below = 1 - _placements(confidence[~hits], confidence[hits])
        influence[hits] = (above - value) * len(hits) / len(above)
        influence[~hits] = (below - value) * len(hits) / len(below)
    return value, influence


def auroc(positive: Float[np.ndarray, " p"], negative: Float[np.ndarray, " q"]) -> float:
    """P(positive > negative) + P(equal) / 2; NaN where one of them is empty."""
    if not len(positive) or not len(negative):
        return float("nan")
    return float(_placements(positive, negative).mean())


def auroc_interval(
    positive: Float[np.ndarray, " p"], negative: Float[np.ndarray, " q"], *, level: float = 0.95
) -> Estimate:
    """The AUROC and its interval (DeLong, DeLong & Clarke-Pearson, Biometrics 1988).

    On the logit scale, so that it stays inside 0 … 1. Where both are told apart without an
    exception there is no variance to see: the end is then that of a share of min(p, q) hits
    without a miss, as in Clopper & Pearson (Biometrika 1934).
    """
    value = auroc(positive, negative)
    if np.isnan(value):
        return Estimate(value, 0.0, 1.0)
    p, q = len(positive), len(negative)
    if value in (0.0, 1.0):
        normal_quantile(level)  # refuses an impossible level
        end = ((1 - level) / 2) ** (1 / min(p, q))
        return Estimate(value, end, 1.0) if value else Estimate(value, 0.0, 1 - end)
    above = _placements(positive, negative)
    below = 1 - _placements(negative, positive)
    variance = float(above.var() / max(p - 1, 1) + below.var() / max(q - 1, 1))
    inner = float(np.clip(value, 0.5 / (p * q), 1 - 0.5 / (p * q)))
    variance = max(variance, inner * (1 - inner) / max(min(p, q), 1) if variance == 0 else 0.0)
    half = normal_quantile(level) * np.sqrt(variance) / (inner * (1 - inner))
    center = np.log(inner / (1 - inner))
    low, high = 1 / (1 + np.exp(-(center + np.array([-half, half]))))
    return Estimate(value, min(float(low), value), max(float(high), value))


def _placements(
    these: Float[np.ndarray, " p"], others: Float[np.ndarray, " q"]
) -> Float[np.ndarray, " p"]:
    """For each of these, the share of the others below it, equal ones counting half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, these, side="left")
    not_above = np.searchsorted(ordered, these, side="right")
    return (below + not_above) / (2 * len(ordered))


def _by_falling_confidence(
    confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"], ties: Ties
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The order, and in it the wrongness of each sample, averaged over ties."""
    order = np.argsort(-confidence, kind="stable")
    if ties == "as given":
        return order, wrong_of(order, right)
    return order, _mean_in(_runs(confidence[order]), wrong_of(order, right))


def _runs(ordered: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Which run of equal values each one belongs to."""
    return np.cumsum(np.append(True, np.diff(ordered) != 0)) - 1


def _mean_in(
    group: Int[np.ndarray, " n"], values: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """The mean of the group each value belongs to."""
    return (np.bincount(group, values) / np.bincount(group))[group]
