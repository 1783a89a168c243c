"""The list of mutations against the code: each old text stands once, no method is left out, and
(slow) each mutation turns its test red."""

import subprocess
import sys
from pathlib import Path

import pytest

from mixcal import losses
from mixcal.catalog import ENTRIES
from tests.mutations.run import ROOT, Mutation, mutations

EVERY = mutations()
METHODS = ROOT / "src" / "mixcal" / "methods"


@pytest.mark.parametrize("mutation", EVERY, ids=lambda mutation: mutation.what)
def test_the_old_text_stands_once(mutation: Mutation) -> None:
    assert (ROOT / mutation.file).read_text().count(mutation.old) == 1
    assert mutation.new != mutation.old
    assert (ROOT / mutation.test).is_file()


def test_no_method_is_left_out() -> None:
    mutated = {mutation.file for mutation in EVERY}
    wanted = {
        Path("src", *entry.target.partition(":")[0].split(".")).with_suffix(".py").as_posix()
        for entry in ENTRIES
        if entry.kind in ("algorithm", "calibrator")
    }
    for name in losses.__all__:
        module = vars(losses)[name].__module__
        wanted.add(Path("src", *module.split(".")).with_suffix(".py").as_posix())
    for path in (METHODS / "mixing").glob("[!_]*.py"):
        wanted.add(path.relative_to(ROOT).as_posix())
    wanted.add("src/mixcal/methods/dynamics/ledger.py")
    assert wanted <= mutated


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_mutation_turns_its_test_red() -> None:
    words = [sys.executable, "-m", "tests.mutations.run"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
