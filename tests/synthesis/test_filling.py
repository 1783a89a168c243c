"""A store filled by one process against ones filled by several, and by ones that were killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.data.mixed_store import MixedStore
from mixcal.synthesis.filling import fill, opened_store, store_header, write
from mixcal.synthesis.generation import Plan, SetMaker
from mixcal.synthesis.sampler import Churn
from mixcal.training.interruption import StopRequest
from tests.support.command import ONE_THREAD, SAME_PACKAGE
from tests.support.mixed import tiny_generator

CPU = torch.device("cpu")
PLAN = Plan(sets=11, steps=4, sets_per_pass=2)
ROOT = Path(__file__).parents[2]
# Dies by SIGKILL at the n-th flush of an array: within writing a block.
DYING = """
import os, signal, sys
from pathlib import Path
import numpy as np
from tests.synthesis.test_filling import filled
left = int(sys.argv[2])
flush = np.memmap.flush
def dying(array):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    flush(array)
np.memmap.flush = dying
filled(Path(sys.argv[1]))
"""


def filled(path: Path, *, shard: tuple[int, int] = (0, 1), plan: Plan = PLAN) -> int:
    generator = tiny_generator()
    header = store_header(generator, plan, CPU)
    store = opened_store(path, header, plan=plan, shape=generator.description.shape)
    maker = SetMaker(generator, plan, CPU)
    return fill(store, maker, shard=shard, show=lambda done, whole: None, stop=StopRequest())


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("whole") / "store"
    assert filled(path) == 11
    return contents(path)


def test_shards_in_any_order_make_the_same_store(tmp_path: Path, whole: dict[str, bytes]) -> None:
    for number in (2, 0, 1):
        assert filled(tmp_path / "store", shard=(number, 3)) in (3, 4)
    assert contents(tmp_path / "store") == whole
    assert filled(tmp_path / "store") == 0


def test_a_killed_process_leaves_no_half_set_and_the_next_goes_on(
    tmp_path: Path, whole: dict[str, bytes]
) -> None:
    path = tmp_path / "store"
    # Five flushes make the store's arrays, then four a block.
    done = subprocess.run(
        [sys.executable, "-c", DYING, str(path), "15"],
        cwd=ROOT,
        env=os.environ | ONE_THREAD | {"PYTHONPATH": f"{SAME_PACKAGE['PYTHONPATH']}:{ROOT}"},
        capture_output=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = len(MixedStore.open(path).missing())
    assert 0 < left < 11
    assert filled(path) == left
    assert contents(path) == whole


def test_what_is_there_is_not_written_again(tmp_path: Path) -> None:
    filled(tmp_path / "store", shard=(0, 2))
    store = MixedStore.open(tmp_path / "store", "r+")
    columns = SetMaker(tiny_generator(), PLAN, CPU)({"block": [0, 1]})
    before = store.images[0].copy()
    columns["images"] = 255 - columns["images"]
    write(store, columns)
    assert np.array_equal(store.images[0], before)
    assert not np.array_equal(store.images[2], before)


def test_a_stop_ends_after_the_block(tmp_path: Path) -> None:
    generator, stop = tiny_generator(), StopRequest()
    store = opened_store(
        tmp_path / "store", store_header(generator, PLAN, CPU), plan=PLAN, shape=(6, 6, 1)
    )

    def show(done: int, whole: int) -> None:
        stop.requested = done > 2

    made = fill(store, SetMaker(generator, PLAN, CPU), shard=(0, 1), show=show, stop=stop)
    assert made == int(store.done.sum()) == 4


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Plan(sets=11, steps=5, sets_per_pass=2), "sampler_steps = 4, not 5"),
        (Plan(sets=12, steps=4, sets_per_pass=2), "sets = 11, not 12"),
        (Plan(sets=11, steps=4, sets_per_pass=3), "sets_per_pass = 2, not 3"),
        (Plan(sets=11, steps=4, sets_per_pass=2, churn=Churn(amount=1.0)), "churn = None"),
    ],
)
def test_another_plan_is_refused(tmp_path: Path, other: Plan, said: str) -> None:
    filled(tmp_path / "store", shard=(0, 6))
    with pytest.raises(BadInput, match=said):
        filled(tmp_path / "store", plan=other)


def test_churn_reads_back_as_it_was_written(tmp_path: Path) -> None:
    plan = Plan(sets=1, steps=4, sets_per_pass=1, churn=Churn(amount=1.0, low=0.1, high=9.0))
    filled(tmp_path / "store", plan=plan)
    assert filled(tmp_path / "store", plan=plan) == 0


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(BadInput, match="is no store"):
        filled(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["letters.txt"]


def test_nothing_is_left_beside_the_store(tmp_path: Path) -> None:
    filled(tmp_path / "store", shard=(0, 6))
    assert [file.name for file in tmp_path.iterdir()] == ["store"]
