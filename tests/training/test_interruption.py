"""Signals: the first asks, the second acts as it would have."""

import os
import signal
from collections.abc import Iterator

import pytest

from mixcal.training.interruption import listening


@pytest.fixture(autouse=True)
def _as_in_a_terminal() -> Iterator[None]:
    """Processes that a shell puts into the background begin with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_first_asks_and_the_second_stops() -> None:
    with listening() as stop:
        assert not stop.requested
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
