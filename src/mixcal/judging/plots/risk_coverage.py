"""Risk–coverage curves: the error among the samples that are kept, by how many are kept."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mixcal.core.errors import BadInput
from mixcal.judging.metrics.ranking import risk_coverage_interval
from mixcal.judging.plots.canvas import legend, palette, percents, say, series, shares, sheet
from mixcal.judging.report.figures import risk
from mixcal.judging.report.wording import interval, number
from mixcal.judging.samples import Samples

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_risk_coverage(
    models: Mapping[str, Samples], *, title: str = "Risk and coverage", level: float = 0.95
) -> "Figure":
    """One curve a model, the least confident samples handed over first; dashed: at random."""
    if not models:
        raise BadInput("There are no predictions to draw; give a run or a prediction file.")
    figure, axes = sheet(5.6, 4.0)
    one = axes[0, 0]
    for place, (name, samples) in enumerate(models.items()):
        drawn = risk(samples)
        found = risk_coverage_interval(samples.confidence, samples.right, level=level)
        ends = interval("aurc", {"low": found.low, "high": found.high})
        said = f"AURC {number('aurc', found.value)} ({ends})"
        if len(models) > 1:
            said = f"{name}: {said}"
        one.plot(drawn["coverage"], drawn["risk"], color=series(place), linewidth=1.9, label=said)
        error = float(1 - samples.right.mean())
        one.plot([0, 1], [error, error], color=series(place), linewidth=0.9, linestyle=(0, (3, 3)))
    shares(one, y=False)
    percents(one.yaxis)
    one.set_ylim(bottom=0)
    sizes = sorted({len(samples) for samples in models.values()})
    note = (
        f"n = {', '.join(f'{n:,}' for n in sizes)}; dashed: if samples were handed over at random"
    )
    say(one, title=title, note=note, x="coverage: samples kept", y="error among them")
    legend(one, "upper left")
    one.spines["bottom"].set_color(palette()["soft"])
    return figure
