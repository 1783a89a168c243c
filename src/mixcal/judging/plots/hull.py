"""What a network says as inputs leave the training data: accuracy, confidence, entropy.

As in Figure 10 of Thulasidasan et al. (NeurIPS 2019; arXiv:1905.11001v5).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.judging.hull_walk import READINGS, HullWalk
from mixcal.judging.plots.canvas import legend_below, percents, say, series, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_hull(walks: Mapping[str, HullWalk], *, title: str = "Leaving the data") -> "Figure":
    """Accuracy, confidence and entropy against the distance: the mean over directions, their range.

    By the name of the model; each may bring several lines (before and after a rescaler).
    """
    if not walks:
        raise BadInput("There is no walk to draw; make one with `mixcal probe RUN --hull`.")
    figure, axes = sheet(10.6, 3.8, columns=3, sharex=True)
    place = 0
    for model, walk in walks.items():
        for name, found in walk.readings.items():
            said = f"{model}, {name}" if len(walks) > 1 else name
            for one, key in zip(axes[0], READINGS, strict=True):
                rows = found[key]
                one.fill_between(
                    walk.distances,
                    rows.min(0),
                    rows.max(0),
                    color=series(place),
                    alpha=0.18,
                    linewidth=0,
                )
                # Two models that agree are both seen.
                style = "-" if place % 2 == 0 else (0, (4, 2))
                one.plot(
                    walk.distances,
                    rows.mean(0),
                    color=series(place),
                    linewidth=1.8,
                    linestyle=style,
                    label=said,
                )
            place += 1
    first = next(iter(walks.values()))
    directions = len(next(iter(first.readings.values()))["accuracy"])
    kinds = " and ".join(dict.fromkeys(walk.direction for walk in walks.values()))
    for one, (key, what) in zip(axes[0], READINGS.items(), strict=True):
        one.set_xscale("log")
        one.set_ylim(0, np.log(first.classes) * 1.05 if key == "entropy" else 1.02)
        if key != "entropy":
            percents(one.yaxis)
        notes = {
            "accuracy": f"n = {first.n:,}, {directions} random directions",
            "confidence": f"{kinds} directions; shaded: their range",
            "entropy": f"in nats; {np.log(first.classes):.2f} = all classes alike",
        }
        say(
            one,
            title=title if key == "accuracy" else what.capitalize(),
            note=notes[key],
            x="distance μ",
            y=what,
        )
    legend_below(figure, 4)
    return figure
