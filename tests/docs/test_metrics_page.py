"""docs/metrics.md against the code: every metric with how its interval is made, every convention.

That its examples run is shown by test_commands.py.
"""

import re
from pathlib import Path

import pytest

from mixcal.judging.estimates import INTERVALS
from mixcal.judging.metrics.conventions import CONVENTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()


@pytest.mark.parametrize("name", INTERVALS)
def test_every_metric_is_defined_with_its_interval(name: str) -> None:
    line = next(line for line in PAGE.splitlines() if line.startswith("|") and f"`{name}`" in line)
    last = line.split("|")[-2].strip()
    assert last.startswith(INTERVALS[name]) or last == "that of `rms_ce`"


def test_every_convention_is_named() -> None:
    named = set(re.findall(r"`([a-z-]+)`", PAGE))
    assert {rules.name for rules in CONVENTIONS} <= named
