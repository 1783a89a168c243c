"""Every metric against arrays on which an independent oracle and public packages were run."""

import numpy as np
import pytest

from mixcal.core.predictions import Predictions
from mixcal.judging.metrics.equal_mass import equal_mass
from mixcal.judging.metrics.out_of_distribution import (
    area_under_precision_recall,
    false_positive_rate,
)
from mixcal.judging.metrics.partition import Partition
from mixcal.judging.metrics.proximity import piece
from mixcal.judging.metrics.ranking import (
    area_under_risk_coverage,
    auroc,
    kolmogorov_smirnov_error,
    kuiper_error,
)
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.metrics.scores import top_label_brier_scores
from mixcal.judging.metrics.smooth import smooth_error
from mixcal.judging.rescaling.temperature import Temperature
from mixcal.judging.samples import Samples
from mixcal.judging.summary import summarized
from tests.support.reference import arrays, expected

BINS = {"k10_n2000": 15, "edges_k8_n51": 8, "ties_k4_n600": 15, "small_k4_n10": 15}
# Name there: name here. KS and equal mass with ties follow below.
NAMES = {
    "ece_{}_right_closed": "ece",
    "mce_{}_right_closed": "mce",
    "rmsce_{}_right_closed": "rms_ce",
    "rmsce_debiased_{}": "debiased_ece",
    "oe_{}": "oe",
    "ue_{}": "ue",
    "oe_conf_weighted_{}": "oe_weighted",
    "ue_conf_weighted_{}": "ue_weighted",
    "adaece_{}_midpoint": "adaptive_ece",
    "classwise_ece_{}_mean": "classwise_ece",
    "brier_sum": "brier",
    "nll": "nll",
    "accuracy": "accuracy",
    "mean_confidence": "mean_confidence",
    "smece": "smooth_ece",
    "auroc_failure": "confidence_auroc",
    "aurc_mean_risk_ties_averaged": "aurc",
}
RULES = {
    "right_closed": Partition.equal,
    "left_closed": lambda bins: Partition.equal(bins, "left"),
    "left_closed_1_alone": lambda bins: Partition.equal(bins, "left", ones_apart=True),
}


def made(name: str) -> Predictions:
    found = arrays(name)
    return Predictions.of(found["labels"], probs=found["probs"])


def agrees(value: float, name: str, metric: str) -> None:
    right, tolerance = expected(name, metric)
    assert value == pytest.approx(right, rel=tolerance, abs=1e-15), metric


@pytest.mark.parametrize("name", BINS)
def test_the_summary(name: str) -> None:
    found = summarized(made(name), bins=BINS[name])["metrics"]
    for there, here in NAMES.items():
        agrees(found[here]["value"], name, there.format(BINS[name]))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", BINS)
def test_the_rule_for_the_edges(name: str, rule: str) -> None:
    bins, predictions = BINS[name], made(name)
    sums = Reliability.of(predictions.probs, predictions.labels, bins=RULES[rule](bins))
    agrees(sums.expected_error(), name, f"ece_{bins}_{rule}")
    agrees(sums.maximum_error(), name, f"mce_{bins}_{rule}")
    agrees(sums.root_mean_squared_error(), name, f"rmsce_{bins}_{rule}")
    if rule == "left_closed":
        agrees(sums.average_error(), name, f"ace_{bins}")
        classwise = summarized(predictions, bins=bins, closed="left")["metrics"]["classwise_ece"]
        agrees(classwise["value"], name, f"classwise_ece_{bins}_mean_left_closed")


@pytest.mark.parametrize("edges", ["split", "quantile", "midpoint"])
@pytest.mark.parametrize("name", BINS)
def test_equal_mass(name: str, edges: str) -> None:
    bins, samples = BINS[name], Samples.of(made(name))
    sums = equal_mass(samples.confidence, samples.right, bins=bins, edges=edges)
    agrees(sums.expected_error(), name, f"adaece_{bins}_{edges}")
    if edges == "split":
        agrees(sums.maximum_error(), name, f"adamce_{bins}_split")


@pytest.mark.parametrize("name", BINS)
def test_curves_by_rank(name: str) -> None:
    samples = Samples.of(made(name))
    pair = samples.confidence, samples.right
    agrees(kolmogorov_smirnov_error(*pair, ties="as given"), name, "ks")
    agrees(kuiper_error(*pair, ties="as given"), name, "kuiper")
    agrees(area_under_risk_coverage(*pair, ties="as given"), name, "aurc_mean_risk")
    agrees(top_label_brier_scores(*pair).mean(), name, "brier_top_label")


def test_two_classes() -> None:
    found = arrays("binary_n1200")
    one, labels = found["p1"], found["labels"]
    top = summarized(Predictions.of(labels, probs=np.column_stack([1 - one, one])))["metrics"]
    positive = Reliability.of_confidence(one, labels == 1)
    agrees(positive.expected_error(), "binary_n1200", "ece_15_positive_class")
    for there, here in (
        ("ece_15_top_label", "ece"),
        ("adaece_15_top_label", "adaptive_ece"),
        ("brier_sum", "brier"),
        ("nll", "nll"),
    ):
        agrees(top[here]["value"], "binary_n1200", there)
    agrees(smooth_error(one, labels == 1), "binary_n1200", "smece_positive_class")
    runs = equal_mass(one, labels == 1, edges="split")
    agrees(runs.expected_error(), "binary_n1200", "adaece_15_positive_class")


def test_foreign_samples() -> None:
    found = arrays("ood_900_400")
    own, foreign = found["score_id"], found["score_ood"]
    curve = area_under_precision_recall
    for value, metric in (
        (auroc(foreign, own), "auroc"),
        (false_positive_rate(foreign, own), "fpr95_ood_positive"),
        (false_positive_rate(-own, -foreign), "fpr95_id_positive"),
        (curve(foreign, own), "aupr_out_average_precision"),
        (curve(foreign, own, area="trapezoid"), "aupr_out_trapezoid"),
        (curve(-own, -foreign, area="trapezoid"), "aupr_in_trapezoid"),
    ):
        agrees(value, "ood_900_400", metric)


def test_piece() -> None:
    found = arrays("piece_n900")
    confidence, right, distance = found["confidence"], found["correct"], found["distance"]
    left = Partition.equal(15, "left")
    cells = piece(confidence, right, distance, bins=left)
    agrees(cells.expected_error(), "piece_n900", "piece_10x15")
    ece = Reliability.of_confidence(confidence, right, bins=left).expected_error()
    agrees(ece, "piece_n900", "ece_15")


def test_temperature_and_the_loss_there() -> None:
    found = arrays("k10_n2000")
    logits, labels = found["logits"].astype(np.float64), found["labels"]
    agrees(Temperature.fit(logits, labels).temperature, "k10_n2000", "temperature")
    best = expected("k10_n2000", "temperature")[0]
    for scale, metric in ((1.0, "nll_at_temperature_1"), (best, "nll_at_temperature")):
        loss = Samples.of_scores(logits / scale, labels, "logits").log_loss.mean()
        agrees(float(loss), "k10_n2000", metric)
