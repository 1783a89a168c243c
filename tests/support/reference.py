"""Made arrays and what a float64 oracle and public packages say of them (tests/golden/metrics).

`expected.json` names the packages' versions; `value` is the oracle's, `peers` are the packages',
`rel_tol` how exactly the value is known.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent.parent / "golden" / "metrics"
# Packages that count in float32 agree to this only.
SINGLE = {"rel": 2e-6, "abs": 2e-7}


@cache
def _expected() -> dict[str, Any]:
    return json.loads((FOLDER / "expected.json").read_text())["datasets"]


def arrays(name: str) -> dict[str, np.ndarray]:
    """The arrays of one data set."""
    with np.load(FOLDER / f"{name}.npz") as file:
        return dict(file)


def expected(name: str, metric: str) -> tuple[float, float]:
    """The oracle's value, and to which relative error."""
    found = _expected()[name]["values"][metric]
    return found["value"], found["rel_tol"]


def of_peer(name: str, metric: str, peer: str) -> float:
    """What a package computes on the same array."""
    return _expected()[name]["values"][metric]["peers"][peer]
