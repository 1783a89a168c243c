"""Contenders and run folders with made predictions, for tests of comparisons."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mixcal.core.predictions import Predictions
from mixcal.judging.comparison.contenders import Contender
from mixcal.judging.report.judged import Judged
from mixcal.judging.report.run_files import WEIGHTS
from mixcal.judging.summary import summarized
from mixcal.recipe_text import written


def contender(
    name: str, predictions: Predictions, recipe: Mapping[str, Any] | None = None
) -> Contender:
    """As if read from a folder of this name."""
    return Contender(
        name=name,
        path=Path(name),
        judged=Judged.of(predictions, name=name),
        order=np.arange(len(predictions)),
        recipe=recipe or {},
    )


def with_numbers(name: str, recipe: Mapping[str, Any], **metrics: float) -> Contender:
    """A contender of four samples, whose numbers are said rather than computed."""
    predictions = Predictions.of(np.array([0, 1, 0, 1]), probs=np.full((4, 2), 0.5))
    numbers = {key: {"value": value, "low": value, "high": value} for key, value in metrics.items()}
    summary = {"bins": 15, "level": 0.95, "metrics": numbers}
    return Contender(
        name=name,
        path=Path(name),
        judged=Judged(name=name, predictions=predictions, summary=summary),
        order=np.arange(4),
        recipe=recipe,
    )


def recipe_of(algorithm: str, seed: int = 0, **knobs: Any) -> dict[str, Any]:
    """The part of a resolved recipe that comparisons read."""
    return {
        "method": {
            "seed": seed,
            "algorithm": {"name": algorithm, **knobs},
            "backbone": {"name": "small"},
            "calibrators": [],
        }
    }


def run_folder(path: Path, recipe: Mapping[str, Any], **files: Predictions) -> Path:
    """A finished run's folder as far as judging reads it; `files` by stem, _ for -."""
    (path / "predictions").mkdir(parents=True)
    (path / "recipe.toml").write_text(written(recipe))
    known: dict[str, dict[str, Any]] = {}
    for stem, predictions in files.items():
        split, _, weights = stem.partition("_")
        known.setdefault(split, {})[WEIGHTS[weights]] = summarized(predictions)
        predictions.save(path / "predictions" / f"{stem.replace('_', '-')}.npz")
    (path / "judgement.json").write_text(json.dumps({"judged": known}))
    return path
