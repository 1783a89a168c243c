"""Partners against a loop over anchors, and by hand."""

import pytest
import torch

from mixcal.methods.mixing.partners import dissimilar_partners, similarities

ANCHOR = torch.tensor([[1.0, 0]])
CANDIDATES = torch.tensor([[1.0, 0], [0, 1], [-1, 0], [1, 1]])


def test_cosine_by_hand() -> None:
    found = similarities(ANCHOR, CANDIDATES, kind="cosine")
    assert found[0].tolist() == pytest.approx([1, 0, -1, 0.707107], abs=1e-6)
    assert found.argsort(dim=1)[0].tolist() == [2, 1, 3, 0]


def test_euclidean_by_hand() -> None:
    found = similarities(ANCHOR, CANDIDATES, kind="euclidean")
    assert found[0].tolist() == pytest.approx([0, -(2**0.5), -2, -1], abs=1e-6)


def by_the_book(similarity, allowed, k: float, fate) -> list[int]:
    """The published way: one anchor after the other."""
    partners = []
    for row in range(len(similarity)):
        pool = [j for j in range(similarity.shape[1]) if allowed[row, j]]
        pool.sort(key=lambda j: (float(similarity[row, j]), j))
        count = max(1, round(k * len(pool))) if 0 < k < 1 else int(k) or len(pool)
        count = min(count, len(pool))
        partners.append(pool[min(int(fate[row] * count), count - 1)])
    return partners


@pytest.mark.parametrize("k", [0, 0.025, 0.05, 0.1, 0.5, 3, 15, 1000])
def test_equals_a_loop(k: float) -> None:
    similarity, fate = torch.randn(20, 60), torch.rand(20)
    allowed = torch.rand(20, 60) < 0.6
    ours, found = dissimilar_partners(similarity, allowed, k=k, fate=fate)
    assert bool(found.all())
    assert ours.tolist() == by_the_book(similarity, allowed, k, fate.tolist())


@pytest.mark.parametrize(("share", "expected"), [(0.05, 11), (0.1, 22), (0.15, 34)])
def test_shares_of_224_candidates(share: float, expected: int) -> None:
    similarity = torch.arange(224.0).repeat(2000, 1)
    allowed = torch.ones(2000, 224, dtype=torch.bool)
    ours, _ = dissimilar_partners(similarity, allowed, k=share, fate=torch.rand(2000))
    assert set(ours.tolist()) == set(range(expected))


def test_a_pool_smaller_than_k_is_used_whole() -> None:
    allowed = torch.tensor([[True, False, True]])
    seen = {
        dissimilar_partners(torch.zeros(1, 3), allowed, k=15, fate=torch.tensor([u]))[0].item()
        for u in (0.0, 0.4, 0.6, 0.999999)
    }
    assert seen == {0, 2}


def test_an_anchor_without_candidates_is_told_apart() -> None:
    allowed = torch.tensor([[False, False], [True, False]])
    _, found = dissimilar_partners(torch.zeros(2, 2), allowed, k=1, fate=torch.zeros(2))
    assert found.tolist() == [False, True]
