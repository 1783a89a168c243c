"""Walks away from the data against a network whose answers are known, and by hand."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mixcal.core.activations import Activations
from mixcal.core.predictions import softmax
from mixcal.predicting.hull import readings, step_of, walk

IMAGES = torch.linspace(-1, 1, 5 * 12).reshape(5, 3, 2, 2)
LABELS = np.array([0, 0, 1, 1, 1])


class Linear(nn.Module):
    """Two logits: the sum of the inputs, and its opposite."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, inputs: Tensor) -> Activations:
        total = self.scale * inputs.flatten(1).sum(1)
        return Activations(torch.stack([-total, total], 1), inputs.flatten(1))


def inputs():
    yield IMAGES[:2]
    yield IMAGES[2:]


def test_readings_by_hand() -> None:
    probs = np.array([[0.5, 0.5], [0.0, 1.0]])
    found = readings(probs, np.array([0, 0]))
    assert found == pytest.approx({"accuracy": 0.5, "confidence": 0.75, "entropy": math.log(2) / 2})


def test_directions_are_uniform_and_units_if_asked() -> None:
    raw = step_of((3, 32, 32), "raw", 1)
    assert raw.abs().max() <= 1
    assert raw.square().mean().item() == pytest.approx(1 / 3, rel=0.05)
    unit = step_of((3, 32, 32), "unit", 1)
    assert unit.norm().item() == pytest.approx(1, abs=1e-5)
    assert torch.allclose(unit * raw.norm(), raw, atol=1e-5)


@pytest.mark.parametrize("direction", ["unit", "raw"])
def test_a_walk_is_what_the_formula_says(direction: str) -> None:
    network = Linear()
    found = walk(
        network, inputs, LABELS, direction=direction, distances=[0.1, 10.0], directions=2, seed=4
    )
    from mixcal.core.seeds import derive

    for place in range(2):
        moved = step_of((3, 2, 2), direction, derive(4, "hull", place))
        for step, distance in enumerate((0.1, 10.0)):
            total = (IMAGES + distance * moved).flatten(1).sum(1).detach().numpy()
            probs = softmax(np.stack([-total, total], 1).astype(np.float64))
            expected = readings(probs, LABELS)
            for key, value in expected.items():
                got = found.readings["as predicted"][key][place, step]
                assert got == pytest.approx(value, abs=1e-5)
    assert (found.n, found.classes, found.direction) == (5, 2, direction)
    assert network.training


def test_a_temperature_changes_confidence_but_no_accuracy() -> None:
    found = walk(
        Linear(),
        inputs,
        LABELS,
        distances=[0.01, 1.0, 5.0],
        finishes={"temperature": lambda logits, features: softmax(logits / 3)},
    )
    plain, scaled = found.readings["as predicted"], found.readings["temperature"]
    assert (plain["accuracy"] == scaled["accuracy"]).all()
    assert (plain["confidence"] > scaled["confidence"]).all()
    assert (plain["entropy"] < scaled["entropy"]).all()


def test_progress_counts_every_pass() -> None:
    seen = []
    walk(
        Linear(),
        inputs,
        LABELS,
        distances=[1.0, 2.0],
        directions=2,
        progress=lambda done, whole: seen.append((done, whole)),
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
