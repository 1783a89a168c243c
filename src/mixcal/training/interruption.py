"""Ctrl-C and its like: finish the step, save, say how to go on."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(Exception):
    """The run was asked to stop and can go on; `done` says what has happened to it."""

    def __init__(
        self,
        folder: Path,
        command: str = "mixcal train --resume",
        *,
        done: str = "Stopped and saved",
    ) -> None:
        super().__init__(f"{done}; go on with `{command} {folder}`.")


@dataclass(slots=True)
class StopRequest:
    """Whether somebody asked the run to stop."""

    requested: bool = False


@contextmanager
def listening() -> Iterator[StopRequest]:
    """Within it the first SIGINT or SIGTERM sets the request; a second one acts as always.

    Signals reach the main thread only, so a run in another one is not stopped by them.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def ask(number: int, frame: FrameType | None) -> None:
        request.requested = True
        for each, handler in before.items():
            signal.signal(each, handler)

    before = {each: signal.getsignal(each) for each in SIGNALS}
    for each in SIGNALS:
        signal.signal(each, ask)
    try:
        yield request
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def resumable(begun: Path) -> Iterator[None]:
    """Within it Ctrl-C and SIGTERM end in a sentence that says how to go on.

    `begun` is the file with which the folder it lies in can be resumed; before it is there, there
    is nothing to go on with, and the interruption stays what it is.
    """

    def ask(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    listens = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, ask) if listens else None
    try:
        yield
    except KeyboardInterrupt:
        if not begun.is_file():
            raise
        raise Interrupted(begun.parent, done="Stopped") from None
    finally:
        if listens:
            signal.signal(signal.SIGTERM, before)
