"""A judged set of predictions: what every page and every comparison is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mixcal.core.predictions import Predictions
from mixcal.judging.summary import summarized


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Predictions, their numbers, and what they are called; `rescaler` names what was applied."""

    name: str
    predictions: Predictions
    summary: Mapping[str, Any]
    rescaler: str = ""

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        *,
        name: str,
        rescaler: str = "",
        bins: int = 15,
        level: float = 0.95,
        summary: Mapping[str, Any] | None = None,
    ) -> Self:
        """With the numbers somebody has already (of the same bins and level), or computed."""
        usable = summary is not None and (summary["bins"], summary["level"]) == (bins, level)
        return cls(
            name=name,
            predictions=predictions,
            summary=summary
            if summary and usable
            else summarized(predictions, bins=bins, level=level),
            rescaler=rescaler,
        )

    @property
    def split(self) -> str:
        """The split the predictions are on."""
        return self.predictions.split

    @property
    def title(self) -> str:
        """The name and what was applied to it."""
        return f"{self.name} + {self.rescaler}" if self.rescaler else self.name

    def value(self, metric: str) -> float:
        """One number."""
        return float(self.summary["metrics"][metric]["value"])
