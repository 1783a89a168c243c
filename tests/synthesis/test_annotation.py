"""Projections and weights against numbers worked out by hand, and what must hold of any encoder."""

import math

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.mixed_images import projected_weights
from mixcal.synthesis.annotation import Prototypes, Rule

PAIR = np.array([[0, 1]])


def by_hand(*, normalize: bool = False) -> Prototypes:
    """P_i = (1, 0), P_j = (0, 2), each from one image."""
    features = np.array([[1.0, 0.0], [0.0, 2.0]], dtype=np.float32)
    return Prototypes.of([(features, np.array([0, 1]))], classes=2, normalize=normalize)


def features(*rows: tuple[float, ...]) -> np.ndarray:
    return np.array([rows], dtype=np.float32)


def test_the_worked_example() -> None:
    image = features((0.6, 1.0))
    found = by_hand().projections(image, PAIR)
    assert found.dtype == np.float32
    assert found.item() == pytest.approx(0.52)
    for scale, expected in ((4.0, 0.519989), (2.3, 0.511498)):
        weights = Rule(scale=scale).weights(by_hand(), image, PAIR)
        assert weights.item() == pytest.approx(expected, abs=1e-6)
    direct = Rule(name="direct", scale=0.5).weights(by_hand(), image, PAIR)
    assert direct.item() == pytest.approx(0.057324, abs=1e-6)
    assert by_hand(normalize=True).projections(image, PAIR).item() == pytest.approx(
        0.328501, abs=1e-6
    )


def test_the_residual_is_orthogonal_to_the_line_between_the_prototypes() -> None:
    image = np.array([0.6, 1.0])
    first, second = np.array([1.0, 0.0]), np.array([0.0, 2.0])
    share = by_hand().projections(features((0.6, 1.0)), PAIR).item()
    residual = image - share * first - (1 - share) * second
    assert residual == pytest.approx([0.08, 0.04], abs=1e-6)
    assert residual @ (first - second) == pytest.approx(0, abs=1e-6)


def test_equation_10_says_the_same_as_equation_7() -> None:
    generator = np.random.default_rng(0)
    means = generator.normal(size=(3, 5)).astype(np.float32)
    prototypes = Prototypes(means)
    images = generator.normal(size=(2, 8, 5)).astype(np.float32)
    pairs, tau = np.array([[0, 2], [1, 2]]), 0.7
    found = prototypes.direct_weights(images, pairs, tau=tau)
    shares = prototypes.projections(images, pairs).astype(np.float64)
    for row, (i, j) in enumerate(pairs):
        p, q = means[i].astype(float), means[j].astype(float)
        inner = ((p - q) @ (p - q)) * (shares[row] - 0.5) + (p @ p - q @ q) / 2
        assert found[row] == pytest.approx(1 / (1 + np.exp(-inner / tau)), abs=1e-5)


def test_end_points() -> None:
    """A prototype itself has λ_E = 1 or 0; the middle ½; what is across the line does not count."""
    generator = np.random.default_rng(1)
    means = generator.normal(size=(4, 6)).astype(np.float32)
    prototypes = Prototypes(means)
    p, q = means[1], means[3]
    across = generator.normal(size=6)
    across -= across @ (p - q) / ((p - q) @ (p - q)) * (p - q)
    images = np.stack([p, q, (p + q) / 2, p + 3 * across, 2 * p - q])[None].astype(np.float32)
    found = prototypes.projections(images, np.array([[1, 3]]))[0]
    assert found == pytest.approx([1, 0, 0.5, 1, 2], abs=1e-5)
    assert projected_weights(found[:1], scale=4.0).item() == pytest.approx(0.8808, abs=1e-4)
    assert projected_weights(found[:1], scale=2.3).item() == pytest.approx(0.7595, abs=1e-4)


def test_the_other_way_round_is_the_rest() -> None:
    generator = np.random.default_rng(2)
    prototypes = Prototypes(generator.normal(size=(2, 4)).astype(np.float32))
    images = generator.normal(size=(1, 8, 4)).astype(np.float32)
    for rule in (Rule(), Rule(name="direct", scale=2.0)):
        there = rule.weights(prototypes, images, PAIR)
        back = rule.weights(prototypes, images, PAIR[:, ::-1])
        assert there + back == pytest.approx(np.ones((1, 8)), abs=1e-6)


def test_prototypes_are_means_and_not_sums() -> None:
    """Ten images of each class leave λ_E at .52; sums would make it .772."""
    once = np.array([[1.0, 0.0], [0.0, 2.0]], dtype=np.float32)
    batches = [(once, np.array([0, 1]))] * 10
    many = Prototypes.of(batches, classes=2)
    assert np.array_equal(many.means, once)
    assert many.fingerprint == by_hand().fingerprint
    sums = Prototypes(10 * once)
    assert sums.projections(features((0.6, 1.0)), PAIR).item() == pytest.approx(0.772, abs=1e-3)


def test_prototypes_by_the_book_in_any_batches() -> None:
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(50, 7)).astype(np.float32)
    labels = generator.integers(0, 3, 50)
    expected = np.stack([rows[labels == k].mean(0, dtype=np.float64) for k in range(3)])
    for size in (50, 7):
        cut = [(rows[i : i + size], labels[i : i + size]) for i in range(0, 50, size)]
        found = Prototypes.of(cut, classes=3)
        assert found.means.dtype == np.float32
        assert found.means == pytest.approx(expected, abs=1e-6)


def test_close_prototypes_far_from_zero_keep_their_digits() -> None:
    """Half precision would see no difference between these."""
    base = np.full(16, 100.0)
    step = np.zeros(16)
    step[0] = 0.01
    means = np.stack([base + step, base]).astype(np.float32)
    image = features(tuple(base + 0.25 * step))
    assert Prototypes(means).projections(image, PAIR).item() == pytest.approx(0.25, abs=2e-3)


def test_shares_by_the_book() -> None:
    generator = np.random.default_rng(4)
    means = generator.normal(size=(3, 5)).astype(np.float32)
    images = generator.normal(size=(2, 4, 5)).astype(np.float32)
    found = Prototypes(means).shares(images, temperature=0.01)
    for image, share in zip(images.reshape(-1, 5), found.reshape(-1, 3), strict=True):
        cosines = [
            float(image @ mean / np.linalg.norm(image) / np.linalg.norm(mean)) for mean in means
        ]
        powers = [math.exp((c - max(cosines)) / 0.01) for c in cosines]
        assert share == pytest.approx([p / sum(powers) for p in powers], abs=1e-4)
    assert found.sum(-1) == pytest.approx(np.ones((2, 4)), abs=1e-6)


@pytest.mark.parametrize("knob", ["scale", "temperature"])
@pytest.mark.parametrize("value", [0.0, -1.0, 1e-320, math.nan, math.inf])
def test_rules_that_give_no_numbers_are_refused(knob: str, value: float) -> None:
    with pytest.raises(BadInput, match="must be above 0"):
        Rule(**{knob: value})


def test_classes_that_cannot_be_told_apart_are_refused() -> None:
    same = Prototypes(np.ones((2, 3), dtype=np.float32))
    with pytest.raises(BadInput, match="prototypes of 'cat' and 'dog' are the same"):
        same.check(PAIR, ("cat", "dog"))
    by_hand().check(PAIR, ("cat", "dog"))


def test_a_class_without_training_images_is_refused_where_it_is_needed() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 2.0]], dtype=np.float32)
    found = Prototypes.of([(rows, np.array([0, 2]))], classes=3)
    found.check(np.array([[0, 2]]), ("a", "b", "c"))
    assert found.shares(features((1.0, 1.0)), temperature=1.0)[0, 0, 1] == 0
    with pytest.raises(BadInput, match="no image of 'b'"):
        found.check(PAIR, ("a", "b", "c"))
    with pytest.raises(BadInput, match="no training images"):
        Prototypes.of([], classes=2)
