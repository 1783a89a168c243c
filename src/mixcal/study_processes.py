"""Runs side by side, each in a process of its own, forked from one that has imported everything.

Importing torch and its kin takes longer than a short run's judgement. The server that forks has
started no threads and touched no GPU, whatever the process that asked for it has done.
"""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
PRELOADED = ["mixcal.run", "mixcal.conclusion", "mixcal.reporting", "torch._dynamo"]

Job = Callable[[], int]
"""Answers an exit status, as a command does; has to be picklable."""


def side_by_side(jobs: Mapping[str, tuple[Job, Path]], *, processes: int) -> list[str]:
    """Do all jobs, at most so many at once; the names of those that failed.

    A job's name comes with the job and the file its output goes to.
    """
    os.environ |= ONE_THREAD
    context = _context()
    waiting, failed = list(jobs.items()), []
    running: dict[int, tuple[str, Path, float, BaseProcess]] = {}
    while waiting or running:
        while waiting and len(running) < processes:
            name, (job, log) = waiting.pop(0)
            process = context.Process(target=_logged, args=(job, str(log)), name=name)
            process.start()
            running[process.sentinel] = (name, log, time.monotonic(), process)
        ready = wait(list(running))
        for sentinel in [sentinel for sentinel in running if sentinel in ready]:
            name, log, began, process = running.pop(sentinel)
            process.join()
            if process.exitcode:
                failed.append(name)
                print(f"{name} failed (exit {process.exitcode}); see {log}", file=sys.stderr)
            else:
                print(f"{name} done in {time.monotonic() - began:.1f} s", file=sys.stderr)
            process.close()
    return failed


def _context() -> Any:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def _logged(job: Job, log: str) -> None:
    """A job with all its output, its children's too, at the end of a file."""
    with open(log, "a") as file:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        sys.stdout = sys.stderr = file
        status = job()
        file.flush()
    sys.exit(status)
