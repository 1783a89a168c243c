"""From run folders to bundles: the weights asked for, their rescaler, and what they did."""

import json
import shutil
import warnings
from pathlib import Path

import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.exporting import bundle_of
from mixcal.judging.rescaling.saving import save_rescaler
from mixcal.judging.rescaling.temperature import Temperature
from mixcal.training.checkpoints import read_tensors


@pytest.fixture(scope="module")
def trained(picture_run: Path) -> Path:
    for path in (picture_run / "rescaling").iterdir():
        path.unlink()
    return picture_run


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "run")


def test_averaged_parameters_come_with_the_live_buffers(run: Path) -> None:
    tensors = read_tensors(run / "checkpoints" / "step-0000000012.safetensors").tensors
    averaged, raw = bundle_of(run).tensors, bundle_of(run, weights="raw").tensors
    assert torch.equal(averaged["stem.weight"], tensors["average.stem.weight"])
    assert torch.equal(raw["stem.weight"], tensors["network.stem.weight"])
    assert not torch.equal(averaged["stem.weight"], raw["stem.weight"])
    assert torch.equal(averaged["norm.running_mean"], tensors["network.norm.running_mean"])


def test_the_origin_says_where_the_weights_come_from(run: Path) -> None:
    origin = bundle_of(run).origin
    judged = json.loads((run / "judgement.json").read_text())["judged"]["test"]["averaged, last"]
    assert origin["step"] == 12
    assert origin["weights"] == "averaged, last"
    shown = origin["judged"]["test"]["averaged, last"]
    assert shown["n"] == 6
    assert shown["ece"] == judged["metrics"]["ece"]["value"]
    assert bundle_of(run, weights="best").origin["step"] in (6, 12)


def test_whether_pictures_may_be_mirrored_comes_along(run: Path) -> None:
    assert bundle_of(run).flips
    record = json.loads((run / "network.json").read_text())
    # Runs that did not say so are not mirrored.
    (run / "network.json").write_text(json.dumps({**record, "flips": False}))
    assert not bundle_of(run).flips
    record.pop("flips")
    (run / "network.json").write_text(json.dumps(record))
    assert not bundle_of(run).flips


def test_the_rescaler_is_that_of_the_weights(run: Path) -> None:
    assert bundle_of(run).rescaler is None
    save_rescaler(Temperature(temperature=2.0), run / "rescaling" / "temperature.json")
    save_rescaler(Temperature(temperature=4.0), run / "rescaling" / "temperature-raw.json")
    assert bundle_of(run).rescaler == Temperature(temperature=2.0)
    assert bundle_of(run, weights="raw").rescaler == Temperature(temperature=4.0)
    assert bundle_of(run, weights="best").rescaler is None
    assert bundle_of(run, rescaler="none").rescaler is None
    with pytest.raises(BadInput, match="did you mean 'temperature'"):
        bundle_of(run, rescaler="temprature")
    with pytest.raises(BadInput, match="has no rescaler 'temperature' for its best weights"):
        bundle_of(run, weights="best", rescaler="temperature")


def test_an_unfinished_run_gives_its_newest_weights_and_says_so(run: Path) -> None:
    (run / "judgement.json").unlink()
    with pytest.warns(UserWarning, match="not come to its end; these are the weights after 12 st"):
        origin = bundle_of(run).origin
    assert "judged" not in origin
    for path in (run / "checkpoints").iterdir():
        path.unlink()
    with pytest.raises(BadInput, match="no checkpoint that can be read"):
        bundle_of(run)
    with pytest.raises(BadInput, match="kept no best checkpoint"):
        bundle_of(run, weights="best")


def test_a_checkpoint_cut_in_half_falls_back(run: Path) -> None:
    newest = run / "checkpoints" / "step-0000000012.safetensors"
    newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert bundle_of(run).origin["step"] == 10
