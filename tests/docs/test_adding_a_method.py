"""docs/adding-a-method.md against what it says: one file, one test, one line, and nothing else.

The page's file and test are written into a copy of the package, its line into the catalog; then the
test passes there, so do the contracts, and the command line knows the name.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "adding-a-method.md").read_text()
NAME = "confidence-brake"
FILE = "methods/calibrators/confidence_brake.py"
TEST = "tests/methods/calibrators/test_confidence_brake.py"
LAST = '    _calibrator("bayias"'


def block_after(words: str) -> str:
    """The first code block behind these words of the page."""
    found = re.search(r"```\w*\n(.*?)```", PAGE[PAGE.index(words) :], re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("house")
    for part in ("src", "tests", "recipes"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    assert FILE in PAGE
    assert TEST in PAGE
    (folder / "src" / "mixcal" / FILE).write_text(block_after("**The file**"))
    (folder / TEST).write_text(block_after("**The test**"))
    catalog = folder / "src" / "mixcal" / "catalog.py"
    before = catalog.read_text()
    assert LAST in before
    catalog.write_text(before.replace(LAST, f"    {block_after('**The line**').strip()}\n{LAST}"))
    return folder


def run(folder: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_its_own_test_and_the_contracts_pass(copy: Path) -> None:
    words = ("pytest", "-q", "-p", "no:cacheprovider", TEST, "tests/contracts/test_calibrators.py")
    done = run(copy, *words, "-k", "brake or by_hand")
    assert done.returncode == 0, done.stdout + done.stderr
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed > 20, "the contracts hold for it on every host"


def test_the_command_line_knows_it(copy: Path) -> None:
    done = run(copy, "mixcal", "methods", "--kind", "calibrator")
    assert NAME in done.stdout, done.stderr
