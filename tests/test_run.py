"""Runs of a few steps on digits with calibrators that look at validation data or stop a run,
against what they promise: reviews each epoch, a resumed run, remarks, one clear sentence."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mixcal.build_loader import hidden_labels
from mixcal.conclusion import conclude, pseudo_mistakes
from mixcal.core.errors import BadInput
from mixcal.methods.dynamics import ledger
from mixcal.methods.dynamics.chance import Guessing
from mixcal.recipe import read_recipe
from mixcal.run import Run, reopen, start, train_to_end
from mixcal.training.interruption import Interrupted

DIGITS = Path(__file__).parent.parent / "recipes" / "digits.toml"
LITTLE = (
    'method.algorithm="none"',
    "method.batch=16",
    "method.epoch_steps=3",
    "method.averaging_decay=0.0",
    'running.rescaler="none"',
    "running.log_every=3",
    "running.evaluate_every=0",
    "running.checkpoint_every=5",
)


class Nobody:
    """Watches nothing; may ask to stop at a step."""

    def show(self, step: int, means: dict, images_per_second: float) -> None:
        pass


def begun(folder: Path, *settings: str) -> Run:
    return start(read_recipe(DIGITS, [*LITTLE, *settings]), folder / "run")


def calibrators(text: str) -> str:
    return f"method.calibrators={text}"


SMALL = "method.data.validation_fraction=0.02"
SEMI = ('method.algorithm={ name = "fixmatch" }', "method.steps=4")
MAPPED = '[{ name = "calibratemix", warmup_fraction = 0.0, store = "mapped", precision = "half" }]'
CALS = calibrators('[{ name = "cals", margin = 0.5 }, { name = "crl" }]')


def test_reviews_happen_each_epoch_and_survive_an_interruption(tmp_path: Path) -> None:
    recipe = (CALS, "method.steps=12", 'method.data.validation="pool"', SMALL)
    whole = begun(tmp_path / "whole", *recipe)
    train_to_end(whole, progress=Nobody())
    term = whole.machine.objective.calibrator.terms["margin_penalty"]
    assert term.reviews.item() == 4
    assert term.multipliers.min() > 1e-3
    judgement = conclude(whole.recipe, whole.prepared, whole.machine, whole.folder)
    assert any("reviewed the validation samples" in remark for remark in judgement["remarks"])

    stopped = begun(tmp_path / "stopped", *recipe)
    watched = stopped.machine.watched["validation"]
    seen = []

    def interrupting(network):
        seen.append(watched(network))
        if len(seen) == 3:
            raise Interrupted(stopped.folder.path)
        return seen[-1]

    stopped.machine.watched["validation"] = interrupting
    with pytest.raises(Interrupted):
        train_to_end(stopped, progress=Nobody())
    again = reopen(tmp_path / "stopped" / "run")
    train_to_end(again, progress=Nobody())
    ours, theirs = (run.machine.objective.state_dict() for run in (again, whole))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    assert again.folder.log.read_bytes() == whole.folder.log.read_bytes()


def test_reviews_without_validation_data_get_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none are held out; set method.data.validation"):
        begun(tmp_path, CALS, "method.steps=12", 'method.data.validation="none"')
    assert not (tmp_path / "run").exists()


def test_a_run_that_only_guesses_stops_where_the_log_is_written(tmp_path: Path) -> None:
    arc = '[{ name = "arc", weight = 1e4, guard = "stop", guard_epochs = 3 }]'
    # A rate of zero leaves the network as it was drawn: it guesses.
    stuck = ("method.steps=60", "method.optimizer.learning_rate=0.0")
    run = begun(tmp_path, calibrators(arc), *stuck, "running.log_every=1")
    with pytest.raises(Guessing, match="does not learn"):
        train_to_end(run, progress=Nobody())
    lines = [json.loads(line) for line in run.folder.log.read_text().splitlines()]
    # Three whole epochs of three steps, and the step that closes the third.
    assert lines[-1]["step"] == 9
    assert lines[-1]["arc_accuracy"] < 0.4


def test_pseudo_mistakes_are_of_samples_whose_labels_training_never_saw(tmp_path: Path) -> None:
    run = begun(tmp_path, *SEMI)
    splits, prepared = run.prepared.splits, run.prepared
    assert np.isin(splits.labeled, splits.unlabeled).all()
    found = pseudo_mistakes(prepared, run.machine.network)
    assert found is not None
    assert found.asked == len(splits.unlabeled) - len(splits.labeled)
    assert not np.isin(splits.unlabeled[found.position], splits.labeled).any()


def test_where_nobody_else_knows_a_label_nothing_is_said_of_pseudo_labels(tmp_path: Path) -> None:
    run = begun(tmp_path, *SEMI)
    source, splits = run.prepared.source, run.prepared.splits
    known = np.full_like(source.train.labels, -1)
    known[splits.labeled] = source.train.labels[splits.labeled]
    pool = replace(source.train, labels=known)
    prepared = replace(run.prepared, source=replace(source, train=pool))
    assert pseudo_mistakes(prepared, run.machine.network) is None
    assert (hidden_labels(pool, splits) == -1).all()
    everything = hidden_labels(source.train, splits)
    assert np.array_equal(everything, source.train.labels[splits.unlabeled])
    # One more known label, and all that are known count, as they always did.
    others = np.setdiff1d(splits.unlabeled, splits.labeled)
    known[others[0]] = 3
    assert np.array_equal(hidden_labels(pool, splits), known[splits.unlabeled])


def damaged_ledger(run: Run, how: str) -> None:
    ledgers = run.folder.path / "ledgers"
    if how == "gone":
        shutil.rmtree(ledgers)
    elif how == "no visits":
        (ledgers / "unlabeled" / "visits.bin").unlink()
    else:
        for undo in (ledgers / "unlabeled").glob("undo-*"):
            undo.write_bytes(np.random.default_rng(0).bytes(undo.stat().st_size))


@pytest.mark.parametrize("how", ["gone", "no visits", "noise"])
def test_a_run_whose_ledger_was_damaged_does_not_go_on(tmp_path: Path, how: str) -> None:
    run = begun(tmp_path, *SEMI, calibrators(MAPPED), "method.steps=7")
    train_to_end(run, progress=Nobody())
    damaged_ledger(run, how)
    with pytest.raises(BadInput, match="cannot go back to the checkpoint of step 7"):
        train_to_end(reopen(run.folder.path), progress=Nobody())


def test_a_run_without_checkpoints_begins_again_with_an_empty_ledger(tmp_path: Path) -> None:
    run = begun(tmp_path, *SEMI, calibrators(MAPPED), "method.steps=7")
    train_to_end(run, progress=Nobody())
    visits = run.machine.objective.calibrator.ledgers["unlabeled"].summary()[2]
    for checkpoint in run.folder.checkpoints.glob("step-*"):
        checkpoint.unlink()
    again = reopen(run.folder.path)
    train_to_end(again, progress=Nobody())
    assert torch.equal(again.machine.objective.calibrator.ledgers["unlabeled"].summary()[2], visits)


def test_sixteen_bits_that_do_not_hold_stop_a_run_at_the_next_line_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "MOST_ERROR", 0.0)
    run = begun(tmp_path, *SEMI, calibrators(MAPPED), "method.steps=7", "running.log_every=2")
    with pytest.raises(BadInput, match="half precision"):
        train_to_end(run, progress=Nobody())
    assert not list(run.folder.checkpoints.glob("step-*"))
    assert run.folder.log.read_text() == ""
