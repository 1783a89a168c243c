"""Easy and hard by hand, with ties, and as a partition of the batch."""

import numpy as np
import pytest
import torch

from mixcal.methods.mixing.difficulty import is_easy

TIED = torch.tensor([2.0, -1.0, 0.5, 0.5])


def test_rank_by_hand() -> None:
    assert is_easy(TIED).tolist() == [True, False, False, True]


def test_median_by_hand() -> None:
    assert is_easy(TIED, split="median").tolist() == [True, False, True, True]


def test_of_an_odd_number_the_middle_is_easy() -> None:
    assert is_easy(torch.tensor([3.0, 1.0, 2.0])).tolist() == [True, False, True]


def test_a_given_threshold_stands_in_for_the_median() -> None:
    assert is_easy(TIED, threshold=torch.tensor(1.0)).tolist() == [True, False, False, False]


@pytest.mark.parametrize("n", [2, 7, 64])
def test_halves_partition_the_batch_whatever_the_margins(n: int) -> None:
    for margins in (torch.randn(n), torch.zeros(n)):
        assert int((~is_easy(margins)).sum()) == n // 2


def test_the_median_equals_numpys() -> None:
    margins = torch.randn(50)
    expected = margins.numpy() >= np.median(margins.numpy())
    assert is_easy(margins, split="median").tolist() == expected.tolist()
