"""Sheets of samples against sorting by hand; thumbnails against the pictures they show."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from mixcal.core.margins import Margins
from mixcal.core.predictions import Predictions
from mixcal.core.pseudo_mistakes import PseudoMistakes
from mixcal.judging.report.galleries import (
    hardest_sheets,
    least_confident_hits,
    most_confident_mistakes,
    pseudo_sheets,
    sheets_of,
)
from mixcal.judging.report.judged import Judged
from mixcal.judging.report.thumbnails import MOST_PIXELS, data_uris
from tests.support.judged import made_pictures

CONFIDENCE = np.array([0.9, 0.6, 0.8, 0.7, 0.95])
RIGHT = np.array([True, False, False, True, False])


def opened(uri: str) -> Image.Image:
    head, _, text = uri.partition(",")
    assert head.startswith("data:image/")
    return Image.open(io.BytesIO(base64.b64decode(text)))


def test_mistakes_fall_and_hits_rise_in_confidence() -> None:
    assert most_confident_mistakes(CONFIDENCE, RIGHT).tolist() == [4, 2, 1]
    assert most_confident_mistakes(CONFIDENCE, RIGHT, 1).tolist() == [4]
    assert least_confident_hits(CONFIDENCE, RIGHT).tolist() == [3, 0]


def test_a_sheet_shows_the_pictures_of_its_samples() -> None:
    probs = np.stack([CONFIDENCE, 1 - CONFIDENCE], axis=1)
    predictions = Predictions.of(np.where(RIGHT, 0, 1), probs=probs, classes=["cat", "dog"])
    everything = made_pictures(5)
    sheets = sheets_of(
        Judged.of(predictions, name=""), {"test": lambda positions: everything[positions]}
    )
    mistakes, hits = sheets
    assert [exhibit.lines[0] for exhibit in mistakes.exhibits][:2] == [
        "says cat at 95.0\u00a0%",
        "says cat at 80.0\u00a0%",
    ]
    assert mistakes.exhibits[0].lines[1] == "is dog"
    shown = [np.asarray(opened(exhibit.picture))[0, 0, 0] for exhibit in mistakes.exhibits]
    assert shown == [4, 2, 1]
    assert [exhibit.name for exhibit in hits.exhibits] == ["3", "0"]


def test_a_perfect_network_has_no_sheet_of_mistakes() -> None:
    predictions = Predictions.of(np.array([0, 1]), probs=np.array([[0.9, 0.1], [0.2, 0.8]]))
    assert [sheet.title for sheet in sheets_of(Judged.of(predictions, name=""), {})] == [
        "Least confident hits"
    ]


def test_hardest_samples_are_looked_up_within_their_split() -> None:
    margins = Margins(
        ids=np.array(["a", "b", "c", "d", "e"]),
        split=np.array(["labeled", "labeled", "unlabeled", "unlabeled", "unlabeled"]),
        label=np.array([0, 1, 0, 1, 1]),
        margin=np.array([0.5, -0.2, 3.0, -1.0, 0.1]),
        visits=np.array([3, 3, 2, 2, 0]),
        classes=("cat", "dog"),
    )
    everything = made_pictures(9)
    looks = {
        "labeled": lambda positions: everything[positions],
        "unlabeled": lambda positions: everything[4 + positions],
    }
    labeled, unlabeled = hardest_sheets(margins, looks)
    assert [exhibit.name for exhibit in labeled.exhibits] == ["b", "a"]
    # Never visited, "e" has no margin.
    assert [exhibit.name for exhibit in unlabeled.exhibits] == ["d", "c"]
    assert [np.asarray(opened(e.picture))[0, 0, 0] for e in unlabeled.exhibits] == [5, 4]
    assert unlabeled.exhibits[0].lines == ("pseudo-label dog", "margin -1.00")


def test_wrong_pseudo_labels_are_looked_up_by_position() -> None:
    probs = np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8], [0.6, 0.4]])
    predictions = Predictions.of(np.array([1, 0, 1, 0]), probs=probs, classes=["cat", "dog"])
    everything = made_pictures(9)
    mistakes = PseudoMistakes.of(predictions, np.array([8, 6, 4, 2]))
    assert (mistakes.asked, mistakes.wrong) == (4, 2)
    (sheet,) = pseudo_sheets(mistakes, {"unlabeled": lambda positions: everything[positions]})
    assert [exhibit.lines for exhibit in sheet.exhibits] == [
        ("says cat at 90.0\u00a0%", "is dog"),
        ("says dog at 70.0\u00a0%", "is cat"),
    ]
    assert [np.asarray(opened(e.picture))[0, 0, 0] for e in sheet.exhibits] == [8, 6]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [8, 32])
def test_small_pictures_are_shown_exactly(channels: int, size: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (1, channels, size, size), dtype=np.uint8)
    seen = np.asarray(opened(data_uris(image)[0]))
    np.testing.assert_array_equal(
        seen if channels == 3 else seen[..., None], image[0].transpose(1, 2, 0)
    )


def test_large_pictures_shrink_and_keep_their_shape() -> None:
    image = np.full((1, 3, 100, 200), 130, dtype=np.uint8)
    uri = data_uris(image)[0]
    assert opened(uri).size == (MOST_PIXELS, MOST_PIXELS // 2)
    assert uri.startswith("data:image/jpeg")
