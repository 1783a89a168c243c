"""Sheets of pictures: the most confident mistakes, the least confident hits."""

from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import UInt8

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.judging.plots.canvas import SMALL, palette, same_length, sheet
from mixcal.judging.report.galleries import Look, least_confident_hits, most_confident_mistakes
from mixcal.judging.samples import Samples

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN, ABREAST = 24, 8
Which = Literal["mistakes", "hits"]
TITLES = {"mistakes": "Most confident mistakes", "hits": "Least confident hits"}
CHOICES = {"mistakes": most_confident_mistakes, "hits": least_confident_hits}


def draw_exhibits(
    predictions: Predictions, look: Look, *, which: Which = "mistakes", count: int = SHOWN
) -> "Figure":
    """Pictures with what the network says, how sure it is, and what they are."""
    if count < 1:
        raise BadInput(f"{count} {which} were asked for; give a --count of 1 or more.")
    samples = Samples.of(predictions)
    index = CHOICES[which](samples.confidence, samples.right, count)
    if not len(index):
        raise BadInput(
            f"{predictions.source or 'The predictions'}: there are no {which} to show; draw "
            "something else."
        )
    colors = palette()
    columns = min(ABREAST, len(index))
    rows = -(-len(index) // columns)
    figure, axes = sheet(max(1.3 * columns, 4.2), 1.56 * rows + 0.4, rows=rows, columns=columns)
    for one in axes.flat:
        one.set_axis_off()
    for one, i, picture in zip(axes.flat, index, look(index), strict=False):
        one.imshow(
            seen(picture),
            cmap="gray" if len(picture) == 1 else None,
            vmin=0,
            vmax=255,
            interpolation="nearest",
        )
        said = predictions.classes[predictions.scores[i].argmax()]
        lines = [f"{_short(said)} at {100 * samples.confidence[i]:.1f}\u202f%"]
        if which == "mistakes":
            lines.append(f"is {_short(predictions.classes[predictions.labels[i]])}")
        one.set_title(
            "\n".join(lines), fontsize=SMALL - 0.5, color=colors["ink"], loc="left", pad=3
        )
    total = int(samples.right.sum() if which == "hits" else (~samples.right).sum())
    figure.suptitle(
        f"{TITLES[which]}   {len(index)} of {total:,}, n = {len(samples):,}",
        fontsize=10.5,
        fontweight="bold",
        color=colors["ink"],
        x=0.01,
        ha="left",
    )
    return figure


def seen(picture: UInt8[np.ndarray, "c h w"]) -> UInt8[np.ndarray, "h w *c"]:
    """As matplotlib shows it: channels last, gray ones without."""
    return picture[0] if len(picture) == 1 else np.moveaxis(picture[:3], 0, -1)


def _short(name: str) -> str:
    return same_length([name], 13)[0]
