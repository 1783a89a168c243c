"""Progress of downloads and of long looks: a bar where somebody watches, else nothing."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)


class Bar:
    """One bar on the error stream."""

    def __init__(self, title: str, *columns: ProgressColumn) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            *columns,
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task(title, total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def show(self, done: int, whole: int | None) -> None:
        """So much is done of so much; None: nobody knows of how much."""
        self._bar.update(self._task, completed=done, total=whole)


def transfer_bar(title: str) -> Bar:
    """A bar that counts bytes."""
    return Bar(title, DownloadColumn(), TransferSpeedColumn())


def count_bar(title: str) -> Bar:
    """A bar that counts things."""
    return Bar(title, MofNCompleteColumn())
