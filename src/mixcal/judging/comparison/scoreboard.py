"""A scoreboard: lines of numbers with differences to one line, whatever it is written as."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mixcal.core.errors import BadInput
from mixcal.judging.estimates import INTERVALS
from mixcal.judging.metrics.intervals import normal_quantile

HEADLINE = ("error", "ece", "nll", "brier")
HIGHER_IS_BETTER = ("accuracy", "confidence_auroc")
# Neither high nor low is good in itself.
NEUTRAL = ("mean_confidence",)
MARK = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A difference to the baseline; both ends are missing where nothing says how sure it is."""

    value: float
    low: float | None = None
    high: float | None = None
    how: str = ""

    @property
    def differs(self) -> bool:
        """Whether there is an interval and it excludes zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A number: with its interval, or as a mean with its standard deviation over runs."""

    value: float
    low: float | None = None
    high: float | None = None
    deviation: float | None = None
    gap: Gap | None = None

    def verdict(self, metric: str) -> str:
        """better, worse or different than the baseline; empty if that cannot be told."""
        if self.gap is None or not self.gap.differs:
            return ""
        if metric in NEUTRAL:
            return "different"
        return "better" if (self.gap.value > 0) == (metric in HIGHER_IS_BETTER) else "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One run or one group of runs; n counts samples of a run, and runs of a group."""

    labels: tuple[str, ...]
    n: int
    cells: Mapping[str, Cell]
    baseline: bool = False
    # The runs of a group by name.
    members: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The labels in one."""
        return ", ".join(self.labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoreboard:
    """Lines under heads; the notes say what one has to know to read them."""

    heads: tuple[str, ...]
    counted: str
    metrics: tuple[str, ...]
    lines: tuple[Line, ...]
    level: float
    notes: tuple[str, ...]

    @property
    def against(self) -> str:
        """What the differences are taken to."""
        return next(line.name for line in self.lines if line.baseline)

    def record(self) -> dict[str, Any]:
        """Plain tables, ready for JSON but for numbers that are not finite."""
        return {
            "against": self.against,
            "lines": [
                {
                    **dict(zip(self.heads, line.labels, strict=True)),
                    self.counted: line.n,
                    **({"members": list(line.members)} if line.members else {}),
                    "metrics": {name: _record(cell) for name, cell in line.cells.items()},
                }
                for line in self.lines
            ],
            "notes": list(self.notes),
        }


def _record(cell: Cell) -> dict[str, Any]:
    made = {name: value for name, value in asdict(cell).items() if value is not None}
    if cell.gap is not None:
        made["difference"] = {**made.pop("gap"), "differs": cell.gap.differs}
    return made


def check_metrics(metrics: Sequence[str], *, option: str = "--metrics") -> tuple[str, ...]:
    """The metrics as asked for, each once; unknown ones are refused."""
    for name in metrics:
        if name not in INTERVALS:
            raise BadInput(f"{option} {name}: unknown; choose from {', '.join(INTERVALS)}.")
    if not metrics:
        raise BadInput(f"{option} is empty; choose from {', '.join(INTERVALS)}.")
    return tuple(dict.fromkeys(metrics))


def check_level(level: float) -> float:
    """A level as it is, if it can be one."""
    normal_quantile(level)
    return level
