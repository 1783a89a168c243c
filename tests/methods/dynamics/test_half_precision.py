"""Margins in sixteen bits against float64: near enough, or refused, and how near is known."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.methods.dynamics.ledger import MarginLedger
from mixcal.methods.dynamics.margins import pseudo_margins
from mixcal.methods.dynamics.sixteen_bits import largest_error
from tests.methods.dynamics.test_ledger import CLASSES, SAMPLES, values_of


def drifting(ledger: MarginLedger, visits: int, *, spread: float, seed: int) -> np.ndarray:
    """Margins whose means wander over the run; returns the float64 averages."""
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(SAMPLES, CLASSES, generator=generator) * 4 * spread
    end = start + torch.randn(SAMPLES, CLASSES, generator=generator) * 4 * spread
    every, exact = torch.arange(SAMPLES), np.zeros((SAMPLES, CLASSES))
    for visit in range(visits):
        noise = torch.randn(SAMPLES, CLASSES, generator=generator) * 1.5 * spread
        margins = pseudo_margins(torch.lerp(start, end, visit / visits) + noise)
        ledger.update(margins, every)
        exact += (margins.numpy() - exact) * (0.997 / (1 + visit))
    return exact


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_half_precision_holds_after_ten_thousand_drifting_visits(seed: int) -> None:
    from scipy.stats import spearmanr

    ledger = MarginLedger(SAMPLES, CLASSES, average="decayed", precision="half")
    exact = drifting(ledger, 10_000, spread=1.0, seed=seed)
    ours = values_of(ledger)
    assert np.abs(ours - exact).max() <= 0.05
    for label in range(CLASSES):
        assert spearmanr(ours[:, label], exact[:, label]).statistic >= 0.99
    ledger.check()


def test_half_precision_is_refused_where_it_would_not_hold() -> None:
    ledger = MarginLedger(SAMPLES, CLASSES, average="decayed", precision="half")
    drifting(ledger, 3_000, spread=12.0, seed=0)
    with pytest.raises(BadInput, match=r'Begin a new run .*precision = "float32"'):
        ledger.check()


def burst(generator: torch.Generator, visit: int) -> torch.Tensor:
    return torch.randn(SAMPLES, CLASSES, generator=generator) * (300 if visit == 0 else 1)


def noise(generator: torch.Generator, visit: int) -> torch.Tensor:
    return torch.randn(SAMPLES, CLASSES, generator=generator) * 20


def growth(generator: torch.Generator, visit: int) -> torch.Tensor:
    return noise(generator, visit) * visit / 1_000


@pytest.mark.parametrize("average", ["mean", "decayed", "constant"])
@pytest.mark.parametrize("margins", [burst, noise, growth])
def test_the_error_of_half_precision_is_known(average: str, margins: Callable) -> None:
    half, full = (
        MarginLedger(SAMPLES, CLASSES, average=average, precision=precision)
        for precision in ("half", "float32")
    )
    generator, every = torch.Generator().manual_seed(0), torch.arange(SAMPLES)
    for visit in range(1_000):
        found = margins(generator, visit)
        half.update(found, every)
        full.update(found, every)
    error = np.abs(values_of(half) - values_of(full)).max()
    known = largest_error(half.table.whole("bounds")[:, 2], SAMPLES * CLASSES)
    assert error < known < 3 * error


def test_half_precision_outlives_a_burst() -> None:
    # The first margins spread over 1,500, those after it over 5: not a reason to stop.
    ledger = MarginLedger(SAMPLES, CLASSES, average="decayed", precision="half")
    generator, every = torch.Generator().manual_seed(0), torch.arange(SAMPLES)
    for visit in range(500):
        ledger.update(burst(generator, visit), every)
    ledger.check()


def test_a_constant_rate_forgets_its_errors() -> None:
    ledger = MarginLedger(SAMPLES, CLASSES, average="constant", precision="half")
    exact = drifting(ledger, 3_000, spread=12.0, seed=0)
    assert np.ptp(exact) > 100
    ledger.check()


def test_half_precision_does_not_take_what_is_no_number() -> None:
    ledger = MarginLedger(SAMPLES, CLASSES, precision="half")
    ledger.update(torch.full((1, CLASSES), float("nan")), torch.tensor([2]))
    with pytest.raises(BadInput, match="half precision"):
        ledger.check()


def test_float32_needs_no_check() -> None:
    ledger = MarginLedger(SAMPLES, CLASSES, average="decayed")
    exact = drifting(ledger, 2_000, spread=12.0, seed=0)
    ledger.check()
    assert np.abs(values_of(ledger) - exact).max() < 1e-3
