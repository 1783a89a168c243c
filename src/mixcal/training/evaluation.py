"""What every evaluation during training reports."""

from mixcal.core.predictions import Predictions
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.metrics.scores import brier_scores, log_losses


def binned(predictions: Predictions, bins: int) -> dict[str, list[float]]:
    """Counts, right predictions and sums of confidence of each bin of confidence."""
    sums = Reliability.of(predictions.probs, predictions.labels, bins=bins)
    return {
        "counts": sums.counts.tolist(),
        "right": sums.right.tolist(),
        "confidence": sums.confidence.tolist(),
    }


def evaluated(predictions: Predictions) -> dict[str, float]:
    """Error, ECE with 10 and 15 bins, OE and UE (15 bins), NLL and Brier score."""
    fine = Reliability.of(predictions.probs, predictions.labels, bins=15)
    coarse = Reliability.of(predictions.probs, predictions.labels, bins=10)
    return {
        "error": 1 - fine.accuracy(),
        "ece_15": fine.expected_error(),
        "ece_10": coarse.expected_error(),
        "oe_15": fine.overconfidence(),
        "ue_15": fine.underconfidence(),
        "nll": float(log_losses(predictions.logits, predictions.labels).mean()),
        "brier": float(brier_scores(predictions.probs, predictions.labels).mean()),
        "confidence": fine.mean_confidence(),
    }
