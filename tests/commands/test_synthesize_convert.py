"""A pickle of the published structure becomes a generator; other files leave no trace."""

import json
import os
import pickle
import shutil
from pathlib import Path

import pytest
import torch

from mixcal.data.mixed_store import MixedStore
from mixcal.synthesis.model import load_generator
from mixcal.training.checkpoints import read_tensors
from tests.support.published_edm import NCSN, network, pickled
from tests.support.runs import ran

SAMPLER = ("--sets", "2", "--steps", "2", "--sets-per-pass", "2")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published network of the digits' shape, converted."""
    root = tmp_path_factory.mktemp("made")
    (root / "edm-digits.pkl").write_bytes(pickled(network(NCSN, classes=10)))
    words = ("synthesize", "convert", root / "edm-digits.pkl", "--source", "digits")
    assert ran(*words, "--into", root / "generator") == 0
    return root


def test_a_converted_folder_draws(made: Path, tmp_path: Path) -> None:
    generator = load_generator(made / "generator", torch.device("cpu"))
    described = generator.description
    assert described.classes == tuple("0123456789")
    assert described.license == "CC BY-NC-SA 4.0"
    assert described.converted_from == "edm-digits.pkl"
    assert (described.network.name, described.network.width) == ("ncsn++", 8)
    assert (
        ran("synthesize", "generate", made / "generator", *SAMPLER, "--into", tmp_path / "s") == 0
    )
    store = MixedStore.open(tmp_path / "s")
    assert store.complete()
    assert store.header["license"] == "CC BY-NC-SA 4.0"
    assert store.header["data"]["source"] == "digits"
    assert store.header["splits"] == described.splits
    assert store.images.std() > 0


def test_training_goes_on_from_it(made: Path, tmp_path: Path) -> None:
    settings = ("method.images=8", "method.batch=4", "method.learning_rate=0.0")
    settings = (*settings, "method.data.source=digits", "method.augmentation=0.2")
    settings = (*settings, "method.data.labels_per_class=none")
    words = [word for setting in settings for word in ("--set", setting)]
    shutil.copytree(made / "generator", tmp_path / "start")
    train = ("synthesize", "train", "--from", tmp_path / "start", *words)
    assert ran(*train, "--into", tmp_path / "on") == 0
    tensors = [
        read_tensors(folder / "weights.safetensors").tensors
        for folder in (made / "generator", tmp_path / "on")
    ]
    # At rate 0 they stay what they were.
    assert set(tensors[0]) == set(tensors[1])
    assert all(torch.equal(tensors[0][name], tensors[1][name]) for name in tensors[0])
    record = json.loads((tmp_path / "on" / "generator.json").read_text())
    assert record["license"] == "CC BY-NC-SA 4.0"
    assert record["converted_from"] == ""
    assert record["network"]["told_augmentation"]
    shutil.rmtree(tmp_path / "start")
    assert ran("synthesize", "train", "--resume", tmp_path / "on") == 0


def test_without_its_data(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("synthesize", "convert", made / "edm-digits.pkl", "--into", tmp_path / "g")
    assert ran(*words, "--license", "mine") == 0
    assert "license of the weights: mine" in capsys.readouterr().out
    assert ran("synthesize", "generate", tmp_path / "g", *SAMPLER, "--into", tmp_path / "s") == 0
    assert ran("synthesize", "annotate", tmp_path / "s", "--encoder", "run:x") == 2
    assert "converted with --source" in capsys.readouterr().err


def test_what_is_refused(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Runs:
        def __reduce__(self) -> tuple:
            return os.system, (f"touch {tmp_path / 'mark'}",)

    (tmp_path / "trap.pkl").write_bytes(pickle.dumps({"ema": Runs()}))
    assert ran("synthesize", "convert", tmp_path / "trap.pkl", "--into", tmp_path / "g") == 2
    said = capsys.readouterr().err
    assert "could run foreign code" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "mark").exists()
    assert not (tmp_path / "g").exists()
    (tmp_path / "three.pkl").write_bytes(pickled(network()))
    words = ("synthesize", "convert", tmp_path / "three.pkl", "--into", tmp_path / "g")
    assert ran(*words, "--source", "digits") == 2
    assert "3 classes of images of 8 × 8 × 1, and digits has 10" in capsys.readouterr().err
    assert not (tmp_path / "g").exists()
    assert ran("synthesize", "train", "--resume", made / "generator") == 2
    assert "train --from" in capsys.readouterr().err
