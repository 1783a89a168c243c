"""Entropies of mixed labels against the means of the paper's figure, against draws, and by hand."""

import math

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.judging.plots.label_entropy import (
    draw_label_entropy,
    label_entropies,
    mean_mixed_entropy,
    mixed_entropy_masses,
    smaller_share,
)


# 0.1347 for α = 0.1: ψ(1.2) − ψ(1.1).
@pytest.mark.parametrize(("alpha", "mean"), [(0.1, 0.1347), (0.2, 0.228), (0.4, 0.346), (1, 0.5)])
def test_means(alpha: float, mean: float) -> None:
    assert mean_mixed_entropy(alpha) == pytest.approx(mean, abs=5e-4)
    edges = np.linspace(0, math.log(2), 4001)
    masses = mixed_entropy_masses(alpha, edges)
    assert masses.sum() == pytest.approx(1)
    assert masses @ (edges[:-1] + edges[1:]) / 2 == pytest.approx(mean, abs=1e-3)


def test_masses_are_those_of_draws() -> None:
    share = np.random.default_rng(0).beta(0.4, 0.4, size=200_000)
    entropy = -share * np.log(share) - (1 - share) * np.log1p(-share)
    edges = np.linspace(0, math.log(2), 11)
    drawn = np.histogram(entropy, edges)[0] / len(entropy)
    assert mixed_entropy_masses(0.4, edges) == pytest.approx(drawn, abs=4e-3)


def test_the_share_of_an_entropy() -> None:
    share = smaller_share(np.array([0.0, 0.32508297, 0.56233514, math.log(2)]))
    assert share == pytest.approx([0, 0.1, 0.25, 0.5], abs=1e-7)


def test_entropies_of_soft_labels() -> None:
    rows = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    assert label_entropies(rows) == pytest.approx([0, math.log(2), math.log(3)])


def test_outlines_carry_masses_and_names() -> None:
    soft = {"people": np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]])}
    axes = draw_label_entropy({"α = 1": 1.0}, soft, cells=4).axes[0]
    drawn = {p.get_label(): p.get_data() for p in axes.patches if p.get_label()}
    assert list(drawn) == ["α = 1: mean 0.500", "people: mean 0.231, n = 3"]
    mixed, people = drawn.values()
    assert people.values == pytest.approx([2 / 3, 0, 0, 1 / 3])
    assert mixed.values == pytest.approx(mixed_entropy_masses(1.0, mixed.edges))
    assert mixed.edges[-1] == pytest.approx(math.log(2))


@pytest.mark.parametrize("alpha", [0.0, -1.0, math.nan])
def test_an_alpha_that_mixes_nothing_is_refused(alpha: float) -> None:
    with pytest.raises(BadInput, match="positive α"):
        draw_label_entropy({"α": alpha})


def test_what_is_no_distribution_is_refused() -> None:
    with pytest.raises(BadInput, match="sum to one"):
        draw_label_entropy(measured={"logits": np.array([[2.0, 1.0]])})
    with pytest.raises(BadInput, match="--alpha"):
        draw_label_entropy()
