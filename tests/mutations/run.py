"""Applies each mutation to a copy of src/ and runs its test, which must fail.

    python -m tests.mutations.run [WORD ...]      only mutations whose text holds one of the words
    python -m tests.mutations.run --control       the tests on an unchanged copy: all are green

One line each, `red` for a test that fails as it should; the exit code is 1 if any test stayed green
or could not be run. Torch is imported once and each test runs in a fork.
"""

import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
LIST = Path(__file__).parent / "mutations.toml"
VERDICTS = {0: "GREEN", 1: "red"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """A text in a file, what to write in its place, and the test that sees it."""

    what: str
    file: str
    old: str
    new: str
    test: str


def mutations() -> list[Mutation]:
    """All of them, in the order of the list."""
    return [Mutation(**record) for record in tomllib.loads(LIST.read_text())["mutation"]]


def verdict(mutation: Mutation, copy: Path, moment: int) -> str:
    """What the test said of the mutated copy; the copy is whole again afterwards."""
    path = copy / mutation.file
    whole = path.read_text()
    path.write_text(whole.replace(mutation.old, mutation.new))
    # Compiled files are told apart by size and time: each state of the file has a time of its own.
    os.utime(path, (moment, moment))
    try:
        child = os.fork()
        if child == 0:
            os._exit(_tested(mutation.test, copy))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        path.write_text(whole)
        os.utime(path, (moment + 1, moment + 1))
    return VERDICTS.get(code, f"BROKEN (exit code {code})")


def _tested(test: str, copy: Path) -> int:
    """In the child: pytest on one file, with the copy's package in front of any other."""
    import pytest

    os.chdir(ROOT)
    sys.path.insert(0, str(copy / "src"))
    os.environ["PYTHONPATH"] = str(copy / "src")
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", test]))


def control() -> int:
    """Every test on a copy of src/ as it is."""
    whole = {
        m.test: Mutation(what="nothing", file=m.file, old=m.old, new=m.old, test=m.test)
        for m in mutations()
    }
    with copied() as copy:
        found = {test: verdict(m, copy, 2_000_000_000) for test, m in whole.items()}
    for test, answer in found.items():
        print(f"{answer:6s} {test}")
    return int(set(found.values()) != {"GREEN"})


@contextmanager
def copied() -> Iterator[Path]:
    """A folder with a copy of src/."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(
            ROOT / "src", Path(folder, "src"), ignore=shutil.ignore_patterns("__pycache__")
        )
        yield Path(folder)


def main(words: Sequence[str]) -> int:
    """Try all, or those asked for."""
    import torch

    torch.set_num_threads(1)
    if "--control" in words:
        return control()
    chosen = [m for m in mutations() if not words or any(w in f"{m.what} {m.file}" for w in words)]
    survived = 0
    with copied() as copy:
        for place, mutation in enumerate(chosen):
            found = verdict(mutation, copy, 2_000_000_000 + 2 * place)
            survived += found != "red"
            print(f"{found:6s} {mutation.what}  ({mutation.test})", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} mutations turned their test red")
    return int(survived > 0 or not chosen)


if __name__ == "__main__":
    assert "mixcal" not in sys.modules
    sys.exit(main(sys.argv[1:]))
