"""What the numbers mean, in a sentence each, and how they are written."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from mixcal.judging.report.judged import Judged

# Written as they are; everything else is a share and written in percent.
PLAIN = ("nll", "brier", "confidence_auroc")
# With spaces at which no line breaks.
PERCENT, TO = "\u00a0%", "\u00a0–\u2060\u00a0"
TITLES: Mapping[str, str] = {
    "accuracy": "accuracy",
    "error": "error",
    "nll": "NLL",
    "brier": "Brier score",
    "ece": "ECE",
    "adaptive_ece": "adaptive ECE",
    "classwise_ece": "classwise ECE",
    "mce": "MCE",
    "rms_ce": "RMS calibration error",
    "ace": "ACE",
    "oe": "OE",
    "ue": "UE",
    "oe_weighted": "OE, weighted",
    "ue_weighted": "UE, weighted",
    "debiased_ece": "debiased RMS error",
    "smooth_ece": "smooth ECE",
    "kde_ece": "KDE-ECE",
    "ks": "KS",
    "aurc": "AURC",
    "confidence_auroc": "AUROC of confidence",
    "mean_confidence": "mean confidence",
}

Sentence = Callable[[str, Mapping[str, Any]], str]
MEANINGS: Mapping[str, Sentence] = {
    "accuracy": lambda v, s: f"So many of the {s['n']:,} samples get the right class: {v}.",
    "error": lambda v, s: f"So many get a wrong one: {v}.",
    "nll": lambda v, s: (
        f"Mean of −log p of the true class; as a geometric mean the true class gets {_typical(s)}."
    ),
    "brier": lambda v, s: (
        "Mean squared distance between probabilities and truth, summed over classes: 0 is perfect, "
        "2 is sure and always wrong."
    ),
    "ece": lambda v, s: (
        f"Over {s['bins']} bins of confidence, confidence and accuracy lie {v} apart on average. "
        f"A perfectly calibrated model of this size would show {_band(s)}."
    ),
    "adaptive_ece": lambda v, s: "The same over bins that hold equally many samples.",
    "classwise_ece": lambda v, s: (
        f"The same for the probability of each of the {s['classes']} classes by itself, averaged; "
        "small by nature, because most probabilities are near 0."
    ),
    "mce": lambda v, s: f"The worst bin is {v} off; a bin of few samples can decide it.",
    "rms_ce": lambda v, s: "Like the ECE, but large gaps count more: root of the mean squared gap.",
    "ace": lambda v, s: "The mean gap of the bins, however few samples a bin holds.",
    "oe": lambda v, s: f"Of the ECE, {v} comes from bins that claim more than they keep.",
    "ue": lambda v, s: f"Of the ECE, {v} comes from bins that keep more than they claim.",
    "oe_weighted": lambda v, s: "OE with each bin weighted by its confidence.",
    "ue_weighted": lambda v, s: "UE with each bin weighted by its confidence.",
    "debiased_ece": lambda v, s: "The RMS error less what chance adds in bins of this size.",
    "smooth_ece": lambda v, s: "The ECE without bins: gaps smoothed by a kernel as wide as itself.",
    "kde_ece": lambda v, s: "The ECE without bins: from kernel density estimates.",
    "ks": lambda v, s: "The largest cumulative gap when samples are lined up by confidence.",
    "aurc": lambda v, s: (
        f"Error among the samples one keeps, averaged over how many are kept: {v}. Lower means "
        "that it pays to hand the least confident ones to a person."
    ),
    "confidence_auroc": lambda v, s: (
        "How often a right answer is more confident than a wrong one; 0.5 is chance."
    ),
    "mean_confidence": lambda v, s: f"How sure it claims to be on average: {v}.",
}


def number(metric: str, value: float) -> str:
    """A number as pages write it."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value:.4f}" if metric in PLAIN else f"{100 * value:.2f}{PERCENT}"


def interval(metric: str, estimate: Mapping[str, float]) -> str:
    """Both ends of an interval."""
    low, high = number(metric, estimate["low"]), number(metric, estimate["high"])
    return f"{low.removesuffix(PERCENT)}{TO}{high}"


def explained(summary: Mapping[str, Any]) -> list[dict[str, str]]:
    """Every metric of a summary: title, value, interval, method of the interval, sentence."""
    rows = []
    for metric, estimate in summary["metrics"].items():
        value = number(metric, estimate["value"])
        sentence = MEANINGS.get(metric)
        rows.append(
            {
                "metric": metric,
                "title": TITLES.get(metric, metric),
                "value": value,
                "interval": interval(metric, estimate),
                "method": summary.get("intervals", {}).get(metric, ""),
                "meaning": sentence(value, summary) if sentence else "",
            }
        )
    return rows


def verdict(judged: Judged) -> dict[str, str]:
    """One sentence about a model's confidence, and what kind it is."""
    ece, band = judged.value("ece"), judged.summary["null_band"]
    accuracy = number("accuracy", judged.value("accuracy"))
    claimed = number("mean_confidence", judged.value("mean_confidence"))
    said = f"it is right {accuracy} of the time and claims {claimed} on average"
    if ece <= band["high"]:
        return {
            "kind": "calibrated",
            "head": "No miscalibration to be seen",
            "text": (
                f"With an ECE of {number('ece', ece)} it lies within what a perfectly calibrated "
                f"model of this size shows ({_band(judged.summary)}): {said}."
            ),
        }
    over = judged.value("oe") > judged.value("ue")
    return {
        "kind": "over" if over else "under",
        "head": "Overconfident" if over else "Underconfident",
        "text": (
            f"The ECE of {number('ece', ece)} is more than a perfectly calibrated model of this "
            f"size shows ({_band(judged.summary)}): {said}."
        ),
    }


def afterwards(judged: Judged) -> str:
    """What rescaling made of it, in a sentence."""
    ece, band = judged.value("ece"), judged.summary["null_band"]
    seen = "no longer to be told from a calibrated model" if ece <= band["high"] else "still off"
    return f"After {judged.rescaler} the ECE is {number('ece', ece)}: {seen} at this size."


def _band(summary: Mapping[str, Any]) -> str:
    return interval("ece", summary["null_band"])


def _typical(summary: Mapping[str, Any]) -> str:
    return f"{100 * math.exp(-summary['metrics']['nll']['value']):.1f}{PERCENT}"
