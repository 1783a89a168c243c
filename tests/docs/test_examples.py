"""CalibrateMix's examples against what they say: they run as they stand, in seconds."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mixcal

ROOT = Path(__file__).parent.parent.parent
# Others have tests of their own in tests/examples.
EXAMPLES = sorted((ROOT / "examples").glob("calibratemix_*.py"))
# What an example needs beyond mixcal's own dependencies.
NEEDS = {"calibratemix_in_lightning": "lightning"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_runs(path: Path) -> None:
    needed = NEEDS.get(path.stem)
    if needed is not None and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed; `pip install {needed}` to run this example")
    package = str(Path(mixcal.__file__).parent.parent)
    found = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": package, "OMP_NUM_THREADS": "1"},
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip(), "an example shows what it does"
    # Those that train: four labels a class, chance is 90 %.
    for error in re.findall(r"test error (\d+\.\d) %", found.stdout):
        assert float(error) < 45
