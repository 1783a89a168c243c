"""The house rules: imports go down only, files stay short, every method has a test and a page."""

import ast
from pathlib import Path

import pytest

from mixcal.catalog import ENTRIES

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "mixcal"
ROOMS = (
    "core",
    "data",
    "backbones",
    "judging",
    "predicting",
    "methods",
    "training",
    "synthesis",
    "serving",
)
FREE = ("recipe", "recipe_check", "recipe_short", "recipe_text")
MAY_IMPORT_ANYTHING = (
    "__init__",
    "__main__",
    "build",
    "build_loader",
    "catalog",
    "cli",
    "commands",
    "conclusion",
    "estimator",
    "exporting",
    "losses",
    "methods_page",
    "reporting",
    "run",
    "study",
    "study_measures",
    "study_pages",
    "study_table",
)
# recipe.py reads the option records of the rooms, which import nothing but core's quantities.
OPTION_RECORDS = ("mixcal.data.options", "mixcal.training.options")
MOST_LINES = 300
HOMELESS = ("utils", "helpers", "common", "misc", "base")

FILES = sorted(SOURCE.rglob("*.py"))
ALL_FILES = sorted(
    path
    for folder in ("src", "tests", "examples", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
)


def imports(path: Path) -> set[str]:
    """The mixcal modules a file imports anywhere, at any depth."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module}
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "mixcal"}


def room(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_room_imports_only_rooms_above_it(path: Path) -> None:
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if own in MAY_IMPORT_ANYTHING:
        return
    for name in imports(path):
        other = room(name)
        if other in ("", own, *FREE):
            continue
        if own in FREE and (other == "core" or name.startswith(OPTION_RECORDS)):
            continue
        assert own in ROOMS, f"{path.name} is in no room but imports {name}"
        assert other in ROOMS, f"{own} imports {name}, which is above all rooms"
        assert ROOMS.index(other) < ROOMS.index(own), f"{own} must not import {name}"


@pytest.mark.parametrize("own", ["judging", "serving"])
def test_judging_and_serving_never_import_methods_or_training(own: str) -> None:
    for path in (SOURCE / own).rglob("*.py"):
        assert not {room(name) for name in imports(path)} & {"methods", "training"}, path


def test_judging_imports_core_only_and_no_torch() -> None:
    for path in (SOURCE / "judging").rglob("*.py"):
        assert {room(name) for name in imports(path)} <= {"judging", "core"}, path
        if "torchmetrics" not in path.name:
            assert "import torch" not in path.read_text(), path


@pytest.mark.parametrize("path", ALL_FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_stay_short_and_have_a_home(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES
    assert path.stem not in HOMELESS


@pytest.mark.parametrize(
    "entry", [e for e in ENTRIES if e.kind != "backbone"], ids=lambda e: e.name
)
def test_every_entry_has_a_test(entry) -> None:
    module = entry.target.partition(":")[0].split(".")
    mirrored = ROOT / "tests" / Path(*module[1:-1]) / f"test_{module[-1]}.py"
    assert mirrored.is_file(), f"{entry.name} needs {mirrored.relative_to(ROOT)}"


def test_tests_mirror_the_package() -> None:
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text().lstrip()
        assert text.startswith('"""'), f"{path} must say in its first line what it compares"
