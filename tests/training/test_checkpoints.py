"""Checkpoints: what goes in comes out, damage is found, a full disk is survived."""

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.core.full_disk import DiskFull
from mixcal.core.protocols import Calibrator
from mixcal.methods.objectives.supervised import Supervised
from mixcal.training.averaging import Average
from mixcal.training.checkpoints import (
    Checkpoint,
    gather,
    newest_checkpoint,
    read_tensors,
    save_checkpoint,
    scatter,
)
from mixcal.training.optimizers import make_optimizer
from mixcal.training.options import OptimizerOptions
from tests.support.toy import toy_batch, toy_clock, toy_network


def checkpoint(step: int, fill: float = 1.0) -> Checkpoint:
    return Checkpoint({"network.weight": torch.full((50, 50), fill)}, {"step": step})


def machine(seed: int, optimizer: str = "sgd"):
    network = toy_network(seed)
    objective = Supervised(Calibrator())
    made = make_optimizer(OptimizerOptions(name=optimizer), network)
    return network, objective, made, Average(network, 0.9)


def trained(parts, steps: range) -> None:
    network, objective, optimizer, average = parts
    for step in steps:
        objective(network, toy_batch(seed=step), toy_clock(step)).total().backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update()


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw", "adadelta"])
def test_training_goes_on_bit_for_bit(tmp_path: Path, optimizer: str) -> None:
    whole = machine(0, optimizer)
    trained(whole, range(6))
    half = machine(0, optimizer)
    trained(half, range(3))
    save_checkpoint(tmp_path, Checkpoint(gather(*half), {"step": 3}))
    again = machine(1, optimizer)
    scatter(newest_checkpoint(tmp_path).tensors, *again)
    trained(again, range(3, 6))
    ours, theirs = gather(*again), gather(*whole)
    assert set(ours) == set(theirs)
    for name, tensor in ours.items():
        assert torch.equal(tensor, theirs[name]), name


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    for step in (5, 10, 15):
        save_checkpoint(tmp_path, checkpoint(step))
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "step-0000000010.safetensors",
        "step-0000000015.safetensors",
    ]
    assert newest_checkpoint(tmp_path).step == 15


@pytest.mark.parametrize("damage", ["half", "flipped", "empty"])
def test_a_damaged_newest_falls_back_with_a_warning(tmp_path: Path, damage: str) -> None:
    save_checkpoint(tmp_path, checkpoint(5, 5.0))
    path = save_checkpoint(tmp_path, checkpoint(10))
    whole = bytearray(path.read_bytes())
    if damage == "flipped":
        whole[-7] ^= 1
    path.write_bytes({"half": whole[: len(whole) // 2], "empty": b""}.get(damage, whole))
    with pytest.warns(UserWarning, match="step-0000000010.safetensors is damaged"):
        found = newest_checkpoint(tmp_path)
    assert found.step == 5
    assert found.tensors["network.weight"][0, 0] == 5


def test_nothing_to_go_on_from_is_no_error(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path) is None


def test_records_come_back(tmp_path: Path) -> None:
    record = {"step": 3, "means": {"loss": [0.1, 2.0]}, "best_error": float("inf")}
    path = save_checkpoint(tmp_path, Checkpoint({"a": torch.ones(1)}, record))
    assert read_tensors(path).record == json.loads(json.dumps(record))


def test_the_same_checkpoint_is_the_same_bytes(tmp_path: Path) -> None:
    """In processes whose hashes differ, too."""
    code = (
        "import sys, torch; from pathlib import Path\n"
        "from mixcal.training.checkpoints import Checkpoint, save_checkpoint\n"
        "made = Checkpoint({'b': torch.ones(2), 'a': torch.zeros(3)}, {'step': 3, 'x': 1.5})\n"
        "for name in sys.argv[1:]:\n"
        "    Path(name).mkdir(); save_checkpoint(Path(name), made)\n"
    )
    names = [f"c{number}" for number in range(12)]
    done = subprocess.run([sys.executable, "-c", code, *names], cwd=tmp_path)
    assert done.returncode == 0
    files = {next((tmp_path / name).iterdir()).read_bytes() for name in names}
    assert len(files) == 1


def test_a_full_disk_leaves_the_old_checkpoint_and_says_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "checkpoints"
    folder.mkdir(parents=True)
    (tmp_path / "run" / "recipe.toml").write_text("")
    save_checkpoint(folder, checkpoint(5))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(DiskFull, match=r"No room to write .*resume .*run`"):
            save_checkpoint(folder, checkpoint(10))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert [p.name for p in folder.iterdir()] == ["step-0000000005.safetensors"]
    assert newest_checkpoint(folder).step == 5


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "step-0000000001.safetensors"
    path.write_bytes(b"not a checkpoint at all")
    with pytest.raises(BadInput, match="damaged"):
        read_tensors(path)
