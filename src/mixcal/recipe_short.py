"""A recipe in a few words: what the estimator's parameters stand for.

Values are those of the recipe for one's own images unless said otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mixcal.core.errors import BadInput
from mixcal.data.options import ARRAYS
from mixcal.recipe import Recipe, merged, recipe_from

Named = str | Mapping[str, Any]

# An epoch of supervised training passes over the labeled rows; any other has so many steps.
EPOCH_STEPS = 100
UNLABELED_RATIO, MOST_AVERAGING = 4, 0.99
# Pictures from here on are seen at half the resolution by the small network.
LARGE = 40
NEVER = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What a person says; `where` names who they said it to."""

    where: str
    host: Named | None
    calibrator: Named | Sequence[Named] | None
    rescaler: str | None
    steps: int | None
    epochs: int | None
    batch: int
    backbone: Named
    validation_fraction: float
    settings: Mapping[str, Any]
    device: str
    precision: str
    seed: int

    def recipe(self, *, labeled: int, unlabeled: int, side: int) -> Recipe:
        """For so many images of this smallest side."""
        host = None if self.host in (None, "supervised") else named(self.host)
        if host is not None and not unlabeled:
            raise BadInput(
                f"Every row has a label, and host={host['name']!r} learns from rows without one; "
                "give some, or say host=None for supervised training."
            )
        if not 0 <= self.validation_fraction < 1:
            raise BadInput(
                f"validation_fraction is {self.validation_fraction}; it must lie in [0, 1), and 0 "
                "holds nothing out."
            )
        record: dict[str, Any] = {
            "method": self._method(host, labeled=labeled, side=side),
            "running": {
                "device": self.device,
                "rescaler": self.rescaler or "none",
                "evaluate_every": 0,
                # At the end there is always one.
                "checkpoint_every": NEVER,
            },
        }
        for key, value in self.settings.items():
            record = merged(record, nested(key, value))
        return recipe_from(record, where=self.where)

    def _method(self, host: dict[str, Any] | None, *, labeled: int, side: int) -> dict[str, Any]:
        backbone = named(self.backbone)
        if backbone["name"] == "small" and side >= LARGE:
            backbone = {"stride": 2, **backbone}
        passes = host is None and self.epochs is not None
        epoch = max(1, labeled // self.batch) if passes else EPOCH_STEPS
        steps = (self.steps or 1) if self.epochs is None else self.epochs * epoch
        data: dict[str, Any] = {"source": ARRAYS, "validation": "none"}
        if self.validation_fraction:
            share = float(self.validation_fraction)
            data |= {"validation": "labels", "validation_fraction": share}
        method = {
            "seed": self.seed,
            "epoch_steps": 0 if passes else EPOCH_STEPS,
            "batch": self.batch,
            "unlabeled_ratio": UNLABELED_RATIO,
            "weak_branch": "separate",
            # Over about the last tenth of a short run, so that its first weights are forgotten.
            "averaging_decay": min(MOST_AVERAGING, max(0.0, 1 - 10 / max(steps, 1))),
            "precision": self.precision,
            "data": data,
            "backbone": backbone,
            "calibrators": [named(entry) for entry in several(self.calibrator)],
        }
        method |= {"steps": self.steps} if self.epochs is None else {"epochs": self.epochs}
        return method if host is None else {**method, "algorithm": host}


def named(entry: Any) -> dict[str, Any]:
    """A name, or a mapping with a name and knobs, as a recipe has it."""
    return {"name": entry} if isinstance(entry, str) else dict(entry)


def several(entries: Named | Sequence[Named] | None) -> list[Named]:
    """None, one or several as a list."""
    if entries is None:
        return []
    return [entries] if isinstance(entries, str | Mapping) else list(entries)


def nested(key: str, value: Any) -> dict[str, Any]:
    """`{"method": {"seed": value}}` from "method.seed"."""
    for part in reversed(key.split(".")):
        value = {part: value}
    return dict(value)
