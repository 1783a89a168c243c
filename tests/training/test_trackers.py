"""Trackers: TensorBoard's files hold what was given; a missing package is one sentence."""

import sys
from pathlib import Path

import pytest

from mixcal.core.errors import BadInput
from mixcal.training.trackers import NoTracker, make_tracker


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_holds_the_scalars(tmp_path: Path) -> None:
    tracker = make_tracker(tmp_path, tensorboard=True, wandb="")
    tracker.scalars(7, {"loss": 0.5, "missing": None})
    tracker.close()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [(e.step, e.value) for e in events.Scalars("loss")] == [(7, 0.5)]
    assert events.Tags()["scalars"] == ["loss"]


def test_wandb_missing_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(BadInput, match="install it"):
        make_tracker(tmp_path, tensorboard=False, wandb="project")


def test_nothing_is_the_default(tmp_path: Path) -> None:
    assert isinstance(make_tracker(tmp_path, tensorboard=False, wandb=""), NoTracker)
