"""What a run folder holds for judging: predictions with their numbers, log, margins, recipe."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mixcal.core.errors import BadInput
from mixcal.core.margins import Margins
from mixcal.core.predictions import Predictions
from mixcal.core.pseudo_mistakes import PseudoMistakes
from mixcal.judging.report.galleries import Look
from mixcal.judging.report.judged import Judged
from mixcal.judging.report.run_page import RunReport

# What the end of a file's name says about the weights; no end: averaged ones.
WEIGHTS = {"": "averaged, last", "raw": "raw, last", "best": "best by validation"}
SPLITS = ("test", "validation", "unlabeled", "labeled")


def report_of_run(path: Path, looks: Mapping[str, Look] | None = None) -> RunReport:
    """Everything a run's page shows, from its folder; `looks` finds pictures, by split."""
    judgement = read_record(path / "judgement.json")
    margins, mistakes = training_files(path)
    return RunReport(
        title=path.resolve().name,
        judged=judged_run(path, judgement),
        facts=facts_of(judgement),
        remarks=remarks_of(judgement),
        log=read_log(path / "log.jsonl"),
        margins=margins,
        mistakes=mistakes,
        looks=looks or {},
        recipe=(path / "recipe.toml").read_text() if (path / "recipe.toml").is_file() else "",
        environment=read_record(path / "environment.json"),
    )


def training_files(path: Path) -> tuple[Margins | None, PseudoMistakes | None]:
    """What training remembered of its samples, as far as the run has it."""
    margins, mistakes = path / "margins.npz", path / "pseudo-mistakes.npz"
    return (
        Margins.load(margins) if margins.is_file() else None,
        PseudoMistakes.load(mistakes) if mistakes.is_file() else None,
    )


def judged_run(path: Path, judgement: Mapping[str, Any] | None = None) -> list[Judged]:
    """The predictions of a run: test before validation, averaged before raw, then rescaled."""
    known = judgement or read_record(path / "judgement.json")
    # Chosen on these samples, the best by validation look better there than they are.
    files = [f for f in sorted((path / "predictions").glob("*.npz")) if not _flattered(f.stem)]
    made = [judged_file(file, known) for file in files]
    if not made:
        raise BadInput(f"{path} holds no predictions; train the run to its end.")
    return sorted(made, key=_order)


def _flattered(stem: str) -> bool:
    return stem.startswith("validation-best")


def judged_file(
    file: Path, judgement: Mapping[str, Any], *, bins: int = 15, level: float = 0.95
) -> Judged:
    """One file of a run's predictions, with its numbers from the judgement where they are there."""
    predictions = Predictions.load(file)
    rescaler = predictions.notes.get("rescaler", "")
    name = _name(file.stem, predictions.split, rescaler)
    label = f"{name}, {rescaler}" if rescaler else name
    summary = judgement.get("judged", {}).get(predictions.split, {}).get(label)
    return Judged.of(
        predictions, name=name, rescaler=rescaler, bins=bins, level=level, summary=summary
    )


def _name(stem: str, split: str, rescaler: str) -> str:
    end = stem.removeprefix(split).strip("-").removesuffix(rescaler).strip("-")
    return WEIGHTS.get(end, end or stem)


def _order(judged: Judged) -> tuple[int, int, str, bool]:
    names = list(WEIGHTS.values())
    split = SPLITS.index(judged.split) if judged.split in SPLITS else len(SPLITS)
    place = names.index(judged.name) if judged.name in names else len(names)
    return split, place, judged.name, bool(judged.rescaler)


def facts_of(judgement: Mapping[str, Any]) -> dict[str, str]:
    """The facts at the top of a page."""
    facts = {name: str(judgement[name]) for name in ("recipe", "seed") if name in judgement}
    budget = judgement.get("label_budget")
    if budget:
        facts["label budget"] = (
            f"{budget['total']:,} = {budget['labeled']:,} labeled + "
            f"{budget['validation']:,} validation"
        )
        facts["validation from"] = str(budget["validation_from"])
    return facts


def remarks_of(judgement: Mapping[str, Any]) -> list[str]:
    """What a reader must know before believing the numbers."""
    watched = ["The test data were watched during training."]
    remarks = watched if judgement.get("watched_test") else []
    rescaling = judgement.get("rescaling") or {}
    return [
        *remarks,
        *judgement.get("remarks", ()),
        *(f"{weights}: {remark}" for weights, remark in rescaling.items() if remark),
    ]


def read_log(path: Path) -> list[dict[str, Any]]:
    """The lines of a log; none where there is no log."""
    if not path.is_file():
        return []
    try:
        return [json.loads(line) for line in path.read_text().splitlines()]
    except ValueError as error:
        raise BadInput(f"{path} is no log ({error}); train the run anew.") from None


def read_record(path: Path) -> dict[str, Any]:
    """A JSON object; empty where there is no file."""
    if not path.is_file():
        return {}
    try:
        record = json.loads(path.read_text())
    except ValueError as error:
        raise BadInput(f"{path} cannot be read ({error}); train the run anew.") from None
    if not isinstance(record, dict):
        raise BadInput(f"{path} is no JSON object; train the run anew.")
    return record
