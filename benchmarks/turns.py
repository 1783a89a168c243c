"""Timing in turns: CPU seconds of works that alternate, and of peers in processes of their own.

Machines are noisy, so what counts is the median of the ratios of pairs.
"""

import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def in_turns(works: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """Each work's seconds, one after the other, `repeats` times, after one warm-up each."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(repeats + 1):
        for name, work in works.items():
            spent = work()
            if turn:
                found[name].append(spent)
    return found


def ratio(over: list[float], under: list[float]) -> float:
    """The median of the ratios of pairs."""
    return statistics.median(a / b for a, b in zip(over, under, strict=True))


def peers_python() -> str | None:
    """The interpreter that MIXCAL_PEERS names, or that of the environment's folder."""
    named = os.environ.get("MIXCAL_PEERS")
    if not named:
        return None
    path = Path(named)
    return str(path / "bin" / "python") if path.is_dir() else str(path)


class Peer:
    """A script of benchmarks/peers in a process of its own, which waits while we run ours.

    It says "ready" when it can be asked, and answers each line with one of JSON.
    """

    def __init__(self, python: str, script: str, *words: object) -> None:
        self._child = subprocess.Popen(
            [python, str(HERE / "peers" / script), *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=os.environ | dict.fromkeys(THREADS, "1"),
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._ask, self._answer = self._child.stdin, self._child.stdout
        while self._answer.readline().strip() != "ready":
            if self._child.poll() is not None:
                raise SystemExit("the peer's process ended; see its message above")

    def ask(self, word: str) -> Any:
        """What it answers."""
        self._ask.write(f"{word}\n")
        return json.loads(self._answer.readline())

    def close(self) -> None:
        """Let it end."""
        self._ask.close()
        self._child.wait()


def grown_mib(work: Callable[[], object]) -> float:
    """By how much the resident memory grew at its highest during one call (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def _status(key: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"/proc/self/status says nothing of {key}")
