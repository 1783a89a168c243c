"""Checks shapes and types of every call, keeps torch to one thread, and finds the real data."""

import os
import random
import shutil
from pathlib import Path

from jaxtyping import install_import_hook

import tests.support.typecheck  # noqa: F401  the hook finds it by name only once it is imported

install_import_hook("mixcal", "tests.support.typecheck.checked")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402

from tests.support.runs import trained_on_pictures  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _disturbed_generators() -> None:
    """Global generators differ in every test run: nothing may depend on them."""
    noise = int.from_bytes(os.urandom(4))
    random.seed(noise)
    np.random.seed(noise)
    torch.manual_seed(noise)


@pytest.fixture(scope="session")
def _picture_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_on_pictures(tmp_path_factory.mktemp("trained"))


@pytest.fixture(scope="module")
def picture_run(_picture_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a few steps beside its pictures; each test file has its own copy."""
    folder = tmp_path_factory.mktemp("copied") / "all"
    shutil.copytree(_picture_run.parent, folder)
    return folder / _picture_run.name


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of real data skip with a reason where there are none, unless they are required."""
    folder = os.environ.get("MIXCAL_DATA", "")
    if folder and os.path.isdir(folder):
        return
    required = os.environ.get("MIXCAL_DATA_REQUIRED")
    for item in items:
        if item.get_closest_marker("real_data"):
            assert not required, "MIXCAL_DATA is required and is no folder"
            item.add_marker(pytest.mark.skip(reason="no folder MIXCAL_DATA with real data"))
