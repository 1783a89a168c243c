"""Guided pairs by their promises: easy meets hard, each pair has a labeled row, targets follow."""

from dataclasses import replace

import pytest
import torch

from mixcal.methods.mixing.guided import Guide, Side, blend, wrong_share

CLASSES = 3


def side(n: int, *, seed: int, margins: torch.Tensor | None = None) -> Side:
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(n, 2, 3, 3, generator=generator)
    labels = torch.randint(CLASSES, (n,), generator=generator)
    return Side(
        inputs=inputs,
        targets=torch.nn.functional.one_hot(labels, CLASSES).float(),
        compared=inputs.flatten(1),
        margins=torch.randn(n, generator=generator) if margins is None else margins,
        weights=torch.ones(n),
    )


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)


LABELED, UNLABELED = side(16, seed=0), side(56, seed=1)


def test_every_pair_is_an_easy_and_a_hard_row_one_of_them_labeled() -> None:
    pairing = Guide().pair(LABELED, UNLABELED, generator())
    assert pairing.first.tolist() == list(range(16))
    assert bool((pairing.second >= 16).all())
    assert bool((pairing.easy[pairing.first] != pairing.easy[pairing.second]).all())
    assert pairing.weight.tolist() == [1.0] * 16
    assert len(set(pairing.gamma.tolist())) == 2
    easy_first = pairing.easy[pairing.first]
    assert torch.equal(pairing.group, (~easy_first).long())


def test_partners_are_among_the_most_dissimilar_of_the_other_side() -> None:
    pairing = Guide(k=0.1).pair(LABELED, UNLABELED, generator())
    unit = torch.nn.functional.normalize
    similarity = unit(LABELED.compared) @ unit(UNLABELED.compared).T
    for first, second in zip(pairing.first, pairing.second, strict=True):
        candidates = [j for j in range(56) if pairing.easy[16 + j] != pairing.easy[first]]
        candidates.sort(key=lambda j: float(similarity[first, j]))
        assert int(second) - 16 in candidates[: round(0.1 * len(candidates))]


def test_anchored_mixes_keep_half_of_the_labeled_member() -> None:
    for seed in range(20):
        draws = torch.Generator().manual_seed(seed)
        pairing = Guide(anchored=True, draw="sample").pair(LABELED, UNLABELED, draws)
        assert pairing.gamma.min() >= 0.5


def test_blends_by_hand() -> None:
    pairing = Guide(gamma=0.7).pair(LABELED, UNLABELED, generator())
    inputs = torch.cat([LABELED.inputs, UNLABELED.inputs])
    targets = torch.cat([LABELED.targets, UNLABELED.targets])
    mixed, wanted = blend(pairing, inputs), blend(pairing, targets)
    for row, (i, j) in enumerate(zip(pairing.first, pairing.second, strict=True)):
        assert torch.allclose(mixed[row], 0.7 * inputs[i] + 0.3 * inputs[j], atol=1e-6)
        assert torch.allclose(wanted[row], 0.7 * targets[i] + 0.3 * targets[j], atol=1e-6)
    assert wanted.sum(1).tolist() == pytest.approx([1.0] * 16)


def test_supervised_pairs_stay_among_the_labeled() -> None:
    pairing = Guide().pair(LABELED, None, generator())
    assert bool((pairing.second < 16).all())
    assert bool((pairing.easy[pairing.first] != pairing.easy[pairing.second]).all())


def test_all_four_kinds_of_pairs() -> None:
    pairing = Guide(pairs="all").pair(LABELED, UNLABELED, generator())
    assert torch.bincount(pairing.group).tolist() == [8, 8, 8, 8]
    kinds = {
        (int(group), bool(first < 16), bool(second < 16))
        for group, first, second in zip(pairing.group, pairing.first, pairing.second, strict=True)
    }
    assert kinds == {(0, True, False), (1, True, False), (2, True, True), (3, False, False)}
    assert bool((pairing.easy[pairing.first] != pairing.easy[pairing.second]).all())
    easy_first = pairing.easy[pairing.first]
    assert bool(easy_first[pairing.group != 1].all())


def test_an_empty_hard_side_leaves_its_pairs_out() -> None:
    flat = side(16, seed=0, margins=torch.zeros(16))
    pairing = Guide(split="median").pair(flat, UNLABELED, generator())
    # All labeled rows are easy, so all partners are hard; nothing is lost here …
    assert pairing.weight.tolist() == [1.0] * 16
    flat_unlabeled = side(56, seed=1, margins=torch.zeros(56))
    pairing = Guide(split="median").pair(LABELED, flat_unlabeled, generator())
    # … but without hard unlabeled rows only hard labeled rows find a partner.
    hard = ~pairing.easy[:16]
    assert torch.equal(pairing.weight > 0, hard)
    assert pairing.weight.sum().item() == pytest.approx(16)


def test_the_host_may_weigh_the_second_member() -> None:
    weights = torch.rand(56)
    weighted = replace(UNLABELED, weights=weights)
    pairing = Guide().pair(LABELED, weighted, generator())
    assert torch.allclose(pairing.weight, weights[pairing.second - 16])


def test_the_host_weighs_both_members_of_unlabeled_pairs() -> None:
    weighted = replace(UNLABELED, weights=torch.rand(56))
    pairing = Guide(pairs="all").pair(LABELED, weighted, generator())
    each = torch.cat([torch.ones(16), weighted.weights])
    expected = each[pairing.first] * each[pairing.second]
    assert torch.allclose(pairing.weight, expected)
    among = pairing.group == 3
    assert bool((each[pairing.first][among] < 1).all())


def test_random_partners_at_k_zero_reach_everybody() -> None:
    seen = set()
    for seed in range(60):
        draws = torch.Generator().manual_seed(seed)
        seen |= set(Guide(k=0).pair(LABELED, UNLABELED, draws).second.tolist())
    assert len(seen) == 56


def test_the_share_of_wrong_pairs_against_a_loop() -> None:
    draws = torch.Generator().manual_seed(3)
    labels = torch.randint(3, (20,), generator=draws)
    hidden = torch.randint(-1, 3, (20,), generator=draws)
    first, second = torch.randint(28, (2, 40), generator=draws)
    found = torch.rand(40, generator=draws) < 0.8
    counted = wrong = 0
    for a, b, there in zip(first.tolist(), second.tolist(), found.tolist(), strict=True):
        members = [m - 8 for m in (a, b) if m >= 8]
        if there and all(hidden[m] >= 0 for m in members):
            counted += 1
            wrong += any(labels[m] != hidden[m] for m in members)
    share = wrong_share(labels, hidden, first, second, labeled=8, found=found)
    assert share.item() == pytest.approx(wrong / counted)
    nobody = torch.full_like(hidden, -1)
    assert wrong_share(labels, nobody, first, second, labeled=8).isnan()
