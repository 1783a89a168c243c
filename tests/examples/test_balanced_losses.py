"""The example against numbers worked out by hand for q = 0.9 and 0.6; the propositions' signs."""

import runpy
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "examples" / "balanced_losses.py"
EXAMPLE = runpy.run_path(str(PATH))
LOSSES, best_pair, best_single = (EXAMPLE[n] for n in ("LOSSES", "best_pair", "best_single"))
CE, FOCAL, L2 = LOSSES.values()

WORKED = [
    (CE, 0.0, 0.75, 0.75, 0.0),
    (CE, 0.05, 0.783872, 0.733872, -0.008872),
    (CE, 0.10, 0.814943, 0.714943, -0.011954),
    (FOCAL, 0.0, 0.650034, 0.650034, 0.119959),
    (FOCAL, 0.05, 0.679547, 0.629547, 0.095453),
    (FOCAL, 0.10, 0.708627, 0.608627, 0.073098),
    (L2, 0.0, 0.75, 0.75, 0.0),
    (L2, 0.05, 0.775, 0.725, 0.0),
    (L2, 0.10, 0.8, 0.7, 0.0),
]


@pytest.mark.parametrize(("loss", "epsilon", "sharp", "soft", "beta"), WORKED)
def test_the_worked_numbers(loss, epsilon: float, sharp: float, soft: float, beta: float) -> None:
    assert best_pair(loss, epsilon) == pytest.approx((sharp, soft, beta), abs=1e-6)


@pytest.mark.parametrize("epsilon", [0.001, 0.15, 0.29])
def test_the_signs_between_the_ends(epsilon: float) -> None:
    assert best_pair(CE, epsilon)[2] < 0
    assert best_pair(FOCAL, epsilon)[2] > 0
    assert best_pair(L2, epsilon)[2] == pytest.approx(0, abs=1e-9)


def test_where_nothing_binds_the_answers_are_the_labels() -> None:
    for loss in (CE, L2):
        assert best_pair(loss, 0.3) == pytest.approx((0.9, 0.6, 0.0), abs=1e-6)


def test_only_focal_loss_is_not_strictly_proper() -> None:
    assert best_single(FOCAL, 0.8) == pytest.approx(0.685831, abs=1e-6)
    assert best_single(CE, 0.8) == pytest.approx(0.8, abs=1e-6)
    assert best_single(L2, 0.8) == pytest.approx(0.8, abs=1e-6)


def test_the_lemma_of_cross_entropy() -> None:
    """T_CE with the denominators that are meant: 2 − q₁ − q₂ ∓ ε (Equation 43 prints 1)."""
    q, r, e = 0.9, 0.6, 0.05
    value = 2 * (
        (1 - q) / (2 - q - r - e) - q / (q + r + e) + (1 - r) / (2 - q - r + e) - r / (q + r - e)
    )
    assert value == pytest.approx(-0.089887, abs=1e-6)


def test_it_prints_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    EXAMPLE["main"]()
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 1 + 12 + 3
    assert shown[2].split() == ["cross-entropy", "0.05", "0.783872", "0.733872", "-0.008872"]
