"""Bundles: what is saved comes back, and every damage is one sentence."""

import json
from pathlib import Path

import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.data.preprocessing import Preprocessing
from mixcal.judging.rescaling.temperature import Temperature
from mixcal.serving.bundle import Bundle, is_bundle

BUNDLE = Bundle(
    factory="mixcal.backbones.wide_resnet:small",
    knobs={"channels": 1, "stride": 2},
    classes=("cat", "dog"),
    preprocessing=Preprocessing(size=(8, 8), stored=(10, 10), mean=(0.5,), std=(0.2,)),
    tensors={"weight": torch.arange(6.0).view(2, 3), "count": torch.tensor(3)},
    rescaler=Temperature(temperature=1.5),
    origin={"run": "mine", "step": 12},
)


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    BUNDLE.save(tmp_path / "b")
    found = Bundle.load(tmp_path / "b")
    assert is_bundle(tmp_path / "b")
    assert not is_bundle(tmp_path)
    assert {path.name for path in (tmp_path / "b").iterdir()} == {
        "bundle.json",
        "weights.safetensors",
        "rescaler.json",
    }
    for name in ("factory", "knobs", "classes", "preprocessing", "rescaler", "origin"):
        assert getattr(found, name) == getattr(BUNDLE, name), name
    assert found.tensors.keys() == BUNDLE.tensors.keys()
    assert all(torch.equal(found.tensors[name], BUNDLE.tensors[name]) for name in found.tensors)


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(BadInput, match="exists already; remove it"):
        BUNDLE.save(tmp_path / "b")
    assert not list((tmp_path / "b").iterdir())


def test_damage_is_named(tmp_path: Path) -> None:
    BUNDLE.save(tmp_path / "b")
    weights = tmp_path / "b" / "weights.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(BadInput, match=r"weights.safetensors is damaged \(its SHA-256 differs\)"):
        Bundle.load(tmp_path / "b")
    weights.unlink()
    with pytest.raises(BadInput, match="is a damaged bundle"):
        Bundle.load(tmp_path / "b")
    weights.write_bytes(whole)
    record = json.loads((tmp_path / "b" / "bundle.json").read_text())
    for change, message in (
        ({"format": 99}, "a bundle of format 99, and this mixcal reads format 1"),
        ({"preprocessing": {"size": [8, 8]}}, "is a damaged bundle"),
        ({"network": {}}, "is a damaged bundle"),
    ):
        (tmp_path / "b" / "bundle.json").write_text(json.dumps(record | change))
        with pytest.raises(BadInput, match=message):
            Bundle.load(tmp_path / "b")
    (tmp_path / "b" / "bundle.json").write_text("{")
    with pytest.raises(BadInput, match="is no bundle"):
        Bundle.load(tmp_path / "b")
