"""Curves, matrices, bars and sheets, read off their artists, against the numbers they show."""

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.judging.hull_walk import HullWalk
from mixcal.judging.metrics.ranking import area_under_risk_coverage
from mixcal.judging.plots.canvas import palette, save_figure, series, sheet
from mixcal.judging.plots.confusion import draw_confusion
from mixcal.judging.plots.exhibits import draw_exhibits
from mixcal.judging.plots.hull import draw_hull
from mixcal.judging.plots.risk_coverage import draw_risk_coverage
from mixcal.judging.plots.study_charts import Measured, draw_bars, draw_knob, positions
from mixcal.judging.report.galleries import most_confident_mistakes
from mixcal.judging.report.judged import Judged
from mixcal.judging.samples import Samples
from tests.support.judged import made_pictures, made_predictions

PREDICTIONS = made_predictions(200)
SAMPLES = Samples.of(PREDICTIONS)


def test_the_palette_is_the_pages() -> None:
    assert palette()["bar"] == "#5b8ad6"
    assert palette()["over"] == "#d1571b"
    assert series(0) == series(6) == "#2c5fb3"


def test_risk_coverage_ends_at_the_error() -> None:
    axes = draw_risk_coverage({"net": SAMPLES}).axes[0]
    curve, dashed = axes.lines
    error = 1 - SAMPLES.right.mean()
    assert curve.get_xydata()[-1] == pytest.approx([1, error])
    assert dashed.get_ydata() == pytest.approx([error, error])
    area = 100 * area_under_risk_coverage(SAMPLES.confidence, SAMPLES.right)
    assert f"AURC {area:.2f}" in curve.get_label()
    with pytest.raises(BadInput, match="no predictions"):
        draw_risk_coverage({})


def test_confusion_counts_and_shades() -> None:
    axes = draw_confusion(Judged.of(PREDICTIONS, name="net")).axes[0]
    matrix = np.zeros((5, 5), dtype=int)
    np.add.at(matrix, (PREDICTIONS.labels, PREDICTIONS.scores.argmax(1)), 1)
    written = np.zeros((5, 5), dtype=int)
    for text in axes.texts:
        if text.get_text().isdigit():
            column, row = text.get_position()
            written[int(row), int(column)] = int(text.get_text())
    assert (written == matrix).all()
    (image,) = axes.images
    assert np.asarray(image.get_array()) == pytest.approx(matrix / matrix.sum(1, keepdims=True))
    assert [text.get_text() for text in axes.get_yticklabels()] == list(PREDICTIONS.classes)


def test_confusion_of_many_classes_shows_pairs() -> None:
    labels, said = np.array([0, 0, 0, 1, 1, 2]), np.array([3, 3, 0, 2, 1, 2])
    probs = np.full((6, 30), 0.5 / 29)
    probs[np.arange(6), said] = 0.5
    axes = draw_confusion(Judged.of(Predictions.of(labels, probs=probs), name="")).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [2, 1]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0 → 3", "1 → 2"]


def walk(rows: int = 2) -> HullWalk:
    curves = np.stack([[0.9, 0.5, 0.1], [0.7, 0.3, 0.1]])[:rows]
    readings = {name: curves for name in ("accuracy", "confidence", "entropy")}
    return HullWalk(
        direction="unit",
        distances=np.array([0.1, 1.0, 10.0]),
        n=50,
        classes=10,
        readings={"as predicted": readings},
    )


def test_the_walk_draws_mean_and_range_of_directions() -> None:
    axes = draw_hull({"net": walk()}).axes
    (line,) = axes[0].lines
    assert line.get_ydata() == pytest.approx([0.8, 0.4, 0.1])
    assert line.get_xdata() == pytest.approx([0.1, 1, 10])
    (band,) = axes[0].collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((0.1, 0.9))
    assert "2 random directions" in axes[0].texts[0].get_text()
    assert [one.get_xscale() for one in axes] == ["log"] * 3


def test_a_walk_survives_its_file() -> None:
    again = HullWalk.of(walk().record(), where="hull.json")
    assert again.record() == walk().record()
    with pytest.raises(BadInput, match=r"hull\.json is no walk"):
        HullWalk.of({"direction": "unit"}, where="hull.json")
    with pytest.raises(BadInput, match="is no walk away from the data"):
        HullWalk.of(walk().record() | {"distances": [1.0]}, where="hull.json")


def test_bars_are_means_with_students_intervals() -> None:
    three = Measured.of_runs([4.0, 5.0, 6.0])
    # By hand: s.d. 1, t(0.975; 2) = 4.3027, so 5 ± 4.3027 / √3.
    assert three.estimate.low == pytest.approx(5 - 2.4841, abs=1e-3)
    assert three.estimate.high == pytest.approx(5 + 2.4841, abs=1e-3)
    one = Measured.of_runs([2.0])
    assert (one.estimate.low, one.estimate.high) == (2, 2)
    axes = draw_bars({"host": {"none": three, "mix": one}}, metric="ECE %").axes[0]
    assert [bar.get_width() for bar in axes.patches] == [5, 2]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["none", "mix"]
    dots = [line.get_xdata() for line in axes.lines if line.get_markersize() == 3.2]
    assert [list(some) for some in dots] == [[4, 5, 6], [2]]
    loss = {name: Measured.of_runs([value]) for name, value in (("a", np.inf), ("b", 2.0))}
    axes = draw_bars({"host": loss | {"c": Measured.of_runs([np.nan])}}, metric="log loss").axes[0]
    right = axes.get_xlim()[1]
    # An infinite loss reaches through the axis, an undefined one has no bar.
    assert sorted(bar.get_width() for bar in axes.patches) == [0, 2, right]
    words = {text.get_text(): text.xy[1] for text in axes.texts}
    assert (words["infinite"], words["undefined"]) == (0, 2)
    with pytest.raises(BadInput, match="run the study"):
        draw_bars({}, metric="ECE")
    with pytest.raises(BadInput, match="run the study"):
        Measured.of_runs([])


def test_a_knob_of_numbers_stands_where_the_numbers_are() -> None:
    assert positions(["1", "0.1", "0.5"]) == {"0.1": 0.1, "0.5": 0.5, "1": 1.0}
    assert positions(["none", "some"]) == {"none": 0.0, "some": 1.0}
    line = {value: Measured.of_runs([float(value)]) for value in ("1", "0.1", "0.5")}
    axes = draw_knob({"host": line}, knob="α", metric="ECE %").axes[0]
    curve = next(one for one in axes.lines if len(one.get_xdata()) == 3)
    assert curve.get_xydata() == pytest.approx(np.array([[0.1, 0.1], [0.5, 0.5], [1, 1]]))
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.1", "0.5", "1"]
    with pytest.raises(BadInput, match="no runs along α"):
        draw_knob({}, knob="α", metric="ECE %")


def test_a_sheet_shows_the_pictures_of_its_samples() -> None:
    def look(positions: np.ndarray) -> np.ndarray:
        return made_pictures(len(PREDICTIONS), size=4)[positions]

    expected = most_confident_mistakes(SAMPLES.confidence, SAMPLES.right, 5)
    figure = draw_exhibits(PREDICTIONS, look, which="mistakes", count=5)
    shown = [int(one.images[0].get_array()[0, 0, 0]) for one in figure.axes]
    assert shown == expected.tolist()
    first = expected[0]
    said = PREDICTIONS.classes[PREDICTIONS.scores[first].argmax()]
    is_class = PREDICTIONS.classes[PREDICTIONS.labels[first]]
    title = figure.axes[0].get_title("left").replace("\u202f", " ")
    assert title == f"{said} at {100 * SAMPLES.confidence[first]:.1f} %\nis {is_class}"
    hits = draw_exhibits(PREDICTIONS, look, which="hits", count=3)
    assert len(hits.axes) == 3
    assert "Least confident hits" in hits.get_suptitle()


def test_no_mistakes_no_sheet() -> None:
    perfect = Predictions.of(np.array([0]), probs=np.array([[1.0, 0.0]]), source="file.npz")
    with pytest.raises(BadInput, match=r"file\.npz: there are no mistakes"):
        draw_exhibits(perfect, lambda i: made_pictures(len(i)))
    with pytest.raises(BadInput, match="0 mistakes were asked for"):
        draw_exhibits(PREDICTIONS, lambda i: made_pictures(len(i)), count=0)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_same_figure_is_the_same_file(tmp_path, ending: str) -> None:
    for name in ("one", "other"):
        figure, axes = sheet(2, 2)
        axes[0, 0].plot([0, 1], [0, 1])
        save_figure(figure, tmp_path / f"{name}.{ending}")
    one, other = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("one", "other"))
    assert one == other
    head = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert one.startswith(head)


def test_an_unknown_format_is_refused(tmp_path) -> None:
    figure, _ = sheet(1, 1)
    with pytest.raises(BadInput, match=r"ends in none of \.png"):
        save_figure(figure, tmp_path / "picture.gif")
