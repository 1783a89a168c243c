"""CalibrateMix's recipes against the rows of its paper's tables: each has a file at both scales."""

import itertools
from pathlib import Path

import pytest

from mixcal.recipe import read_recipe

FOLDER = Path(__file__).parent.parent / "recipes"
HOSTS = ("fixmatch", "flexmatch", "softmatch")
COLUMNS = {
    "cifar10": (4, 25, 400),
    "cifar100": (4, 25, 100),
    "svhn": (4, 100),
    "stl10": (4, 100),
}
# Tables 1 and 2: what stands after the host, and the calibrators that it means.
ADDED = {
    "": [],
    "-calibratemix": ["calibratemix"],
    "-random-mixup": ["random-mixup"],
    "-label-smoothing": ["label-smoothing"],
    "-calibratemix-label-smoothing": ["calibratemix", "label-smoothing"],
}
# Table 4 and what the paper leaves open; the knobs that differ from plain CalibrateMix.
VARIANTS = {
    "mix-all": {"pairs": "all"},
    "mix-all-no-warmup": {"pairs": "all", "warmup": 0},
    "k0": {"k": 0},
    "k2.5": {"k": 0.025},
    "k7.5": {"k": 0.075},
    "k10": {"k": 0.1},
    "k15": {"k": 0.15},
    "euclidean": {"dissimilarity": "euclidean"},
    "pool-median": {"median": "pool"},
    "warmup-0": {"warmup": 0},
    "warmup-50": {"warmup": 0.5},
    "warmup-200": {"warmup": 2},
}
LAPTOP = ("fashion-4", "fashion-25", "cifar10-25", "cifar10-100")
PUBLISHED = [f"{data}-{labels}" for data, counts in COLUMNS.items() for labels in counts]


def calibrators(name: str) -> list[str]:
    return [found.name for found in read_recipe(FOLDER / f"{name}.toml").method.calibrators]


@pytest.mark.parametrize("added", ADDED)
@pytest.mark.parametrize("scale", ["published", "laptop"])
def test_tables_1_and_2(scale: str, added: str) -> None:
    folder, columns = ("calibratemix", PUBLISHED) if scale == "published" else ("laptop", LAPTOP)
    for column, host in itertools.product(columns, HOSTS):
        name = f"{folder}/{column}-{host}{added}"
        method = read_recipe(FOLDER / f"{name}.toml").method
        assert method.algorithm is not None
        assert method.algorithm.name == host
        assert [found.name for found in method.calibrators] == ADDED[added]
        assert str(method.data.labels_per_class) == column.rsplit("-", 1)[1]
        capped = "label-smoothing" in added and host != "softmatch"
        assert method.algorithm.knobs.get("threshold_cap", 0.0) == (0.1 if capped else 0.0)


def test_supervised_rows_and_table_3() -> None:
    for data in (*COLUMNS, "imagenet", "webvision"):
        assert calibrators(f"calibratemix/{data}-supervised") == []
        assert calibrators(f"calibratemix/{data}-supervised-calibratemix") == ["calibratemix"]
    for column in LAPTOP:
        assert calibrators(f"laptop/{column}-supervised-calibratemix") == ["calibratemix"]
    for data, host in itertools.product(("imagenet", "webvision"), HOSTS):
        name = f"calibratemix/{data}-10-percent-{host}"
        assert calibrators(name) == []
        assert calibrators(f"{name}-calibratemix") == ["calibratemix"]
        (found,) = read_recipe(FOLDER / f"{name}-calibratemix.toml").method.calibrators
        # In float32 on the device they would take gigabytes there and in every checkpoint.
        assert (found.knobs["store"], found.knobs["precision"]) == ("mapped", "half")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "column",
    [
        "calibratemix/cifar100-4",
        "calibratemix/stl10-4",
        "laptop/fashion-4",
        "laptop/cifar10-25",
    ],
)
def test_table_4(column: str, variant: str) -> None:
    base = read_recipe(FOLDER / f"{column}-softmatch-calibratemix.toml").method
    made = read_recipe(FOLDER / f"{column}-softmatch-calibratemix-{variant}.toml").method
    expected = dict(VARIANTS[variant])
    if (epochs := expected.pop("warmup", None)) is not None:
        small = column.startswith("laptop")
        key, whole = ("warmup_fraction", 0.1) if small else ("warmup_steps", 102_400)
        expected[key] = epochs * whole
    (changed,) = made.calibrators
    assert changed.knobs == {**base.calibrators[0].knobs, **expected}
    assert made.data == base.data
    assert made.algorithm == base.algorithm
