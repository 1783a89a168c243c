"""Adapters for torchmetrics that have seen nothing, or what are no scores."""

import subprocess
import sys

import numpy as np
import pytest

from mixcal.judging.estimates import INTERVALS
from mixcal.judging.metrics.torchmetrics_adapter import (
    ForeignScore,
    HumanScore,
    ProximityError,
    torchmetric,
)


@pytest.mark.filterwarnings("ignore:The ``compute`` method:UserWarning")
def test_of_no_samples_every_number_is_nan() -> None:
    made = {name: torchmetric(name, kind="logits", classes=4) for name in INTERVALS}
    for name, metric in made.items():
        assert np.isnan(metric.compute().item()), name
        assert np.isnan(metric.estimate().value), name
    compared = (
        HumanScore(kind="logits"),
        HumanScore("calibration_error", kind="logits"),
        ForeignScore(kind="logits"),
        ProximityError(kind="logits"),
    )
    for metric in compared:
        assert np.isnan(metric.compute().item())


def test_scores_of_one_dimension_are_named() -> None:
    """In a process of its own: here the shapes in the signatures are checked first."""
    script = (
        "import torch\n"
        "from mixcal.judging.metrics.torchmetrics_adapter import torchmetric\n"
        "torchmetric('ece', kind='probs').update(torch.rand(5), torch.zeros(5, dtype=int))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "BadInput: the batch: scores have shape (5,); give samples by classes" in done.stderr
