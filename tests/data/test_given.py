"""Images and labels as people hold them: values worked out by hand, and what is refused."""

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.given import as_bytes, as_pictures, data_range, numbered, without_label


@pytest.mark.parametrize(
    ("values", "range_", "wanted"),
    [
        (np.array([0, 7, 255], np.uint8), None, [0, 7, 255]),
        (np.array([True, False]), None, [255, 0]),
        (np.array([0, 200], np.int64), None, [0, 200]),
        # A half rounds to even, as everywhere in NumPy.
        (np.array([0, 0.5, 1.0, 1 / 255]), None, [0, 128, 255, 1]),
        (np.array([0, 8, 16, 20]), (0.0, 16.0), [0, 128, 255, 255]),
        (np.array([-1, 0, 1], np.float32), (-1.0, 1.0), [0, 128, 255]),
        # A range that was named holds for bytes, too.
        (np.array([0, 1], np.uint8), (0.0, 1.0), [0, 255]),
    ],
)
def test_bytes_by_hand(values: np.ndarray, range_, wanted: list[int]) -> None:
    found = as_bytes(values, range_)
    assert found.dtype == np.uint8
    assert found.tolist() == wanted


def test_bytes_are_not_copied() -> None:
    images = np.zeros((2, 3, 3), np.uint8)
    assert as_bytes(images, None) is images


@pytest.mark.parametrize(
    ("values", "range_", "message"),
    [
        (np.array([0, 300]), None, "whole numbers must lie in 0 … 255"),
        (np.array([-0.1, 1]), None, "decimal numbers must lie in 0 … 1; say with value_range"),
        (np.array([0.0, 1]), (3.0, 3.0), "second number must be the larger"),
    ],
)
def test_ranges_are_never_guessed(values: np.ndarray, range_, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        as_bytes(values, range_)


def test_the_datas_own_range() -> None:
    assert data_range(np.array([3, -2, 5])) == (-2.0, 5.0)
    assert data_range(np.array([4.0, 4.0])) == (4.0, 5.0)


def test_rows_become_pictures() -> None:
    rows = np.arange(24).reshape(2, 12)
    assert as_pictures(rows, (3, 4)).tolist() == rows.reshape(2, 3, 4).tolist()
    assert as_pictures(rows, (2, 2, 3)).shape == (2, 2, 2, 3)
    assert as_pictures(rows, "row").shape == (2, 1, 12)
    images = rows.reshape(2, 3, 4)
    assert as_pictures(images, None) is images
    for shape, message in ((None, "say with image_shape"), ((3, 5), "no picture of"), ("x", "'x'")):
        with pytest.raises(BadInput, match=message):
            as_pictures(rows, shape)
    with pytest.raises(BadInput, match="1 or 3 channels"):
        as_pictures(np.zeros((2, 3, 4, 2)), None)


@pytest.mark.parametrize(
    ("labels", "marker", "wanted"),
    [
        (np.array([0, -1, 3]), -1, [0, 1, 0]),
        (np.array([0, -1, 3]), None, [0, 0, 0]),
        (np.array([0.0, -1.0]), -1, [0, 1]),
        (np.array(["cat", "-1", "dog"]), -1, [0, 1, 0]),
        (np.array(["cat", "?"]), "?", [0, 1]),
        (np.array(["cat", -1, None, float("nan"), "-1"], dtype=object), -1, [0, 1, 1, 1, 0]),
        # A text is no marker among numbers.
        (np.array([1, 2]), "none", [0, 0]),
    ],
)
def test_who_has_no_label(labels: np.ndarray, marker, wanted: list[int]) -> None:
    assert without_label(labels, marker).astype(int).tolist() == wanted


def test_classes_in_order_and_numbers() -> None:
    labels = np.array(["dog", "-1", "cat", "dog"])
    classes, numbers = numbered(labels, labels == "-1")
    assert classes.tolist() == ["cat", "dog"]
    assert numbers.tolist() == [1, -1, 0, 1]
    with pytest.raises(BadInput, match="of 1 class"):
        numbered(np.array([1, 1]), np.zeros(2, bool))
