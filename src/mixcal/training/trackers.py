"""Where else the log may go: TensorBoard and Weights & Biases, each behind one option."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from mixcal.core.errors import BadInput


@runtime_checkable
class Tracker(Protocol):
    """Somebody who keeps scalars by step."""

    def scalars(self, step: int, values: Mapping[str, float | None]) -> None: ...

    def close(self) -> None: ...


class NoTracker:
    """Keeps nothing: `log.jsonl` has it all."""

    def scalars(self, step: int, values: Mapping[str, float | None]) -> None:
        return

    def close(self) -> None:
        return


class TensorBoard:
    """Event files in the run folder's `tensorboard`."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise BadInput(
                "running.tensorboard needs the package tensorboard; install mixcal[track]."
            ) from None
        self._writer: Any = SummaryWriter(str(folder / "tensorboard"))

    def scalars(self, step: int, values: Mapping[str, float | None]) -> None:
        for name, value in values.items():
            if value is not None:
                self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class WeightsAndBiases:
    """A run of the user's own wandb installation."""

    def __init__(self, folder: Path, project: str) -> None:
        try:
            import wandb
        except ImportError:
            raise BadInput("running.wandb needs the package wandb; install it.") from None
        self._run: Any = wandb.init(project=project, name=folder.name, dir=str(folder))

    def scalars(self, step: int, values: Mapping[str, float | None]) -> None:
        self._run.log({k: v for k, v in values.items() if v is not None}, step=step)

    def close(self) -> None:
        self._run.finish()


class Both:
    """Several trackers as one."""

    def __init__(self, *trackers: Tracker) -> None:
        self._trackers = trackers

    def scalars(self, step: int, values: Mapping[str, float | None]) -> None:
        for tracker in self._trackers:
            tracker.scalars(step, values)

    def close(self) -> None:
        for tracker in self._trackers:
            tracker.close()


def make_tracker(folder: Path, *, tensorboard: bool, wandb: str) -> Tracker:
    """The trackers that a recipe's [running] asks for."""
    trackers: list[Tracker] = []
    if tensorboard:
        trackers.append(TensorBoard(folder))
    if wandb:
        trackers.append(WeightsAndBiases(folder, wandb))
    return Both(*trackers) if trackers else NoTracker()
