"""A predictor against the run that trained its network: the same files, the same answers."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions, softmax
from mixcal.exporting import bundle_of
from mixcal.judging.rescaling.saving import save_rescaler
from mixcal.judging.rescaling.temperature import Temperature
from mixcal.serving.bundle import Bundle
from mixcal.serving.predictor import Predictor


@pytest.fixture(scope="module")
def run(picture_run: Path) -> Path:
    return picture_run


@pytest.fixture
def bundle(run: Path, tmp_path: Path) -> Path:
    bundle_of(run, rescaler="none").save(tmp_path / "bundle")
    return tmp_path / "bundle"


def judged(run: Path, name: str = "test") -> Predictions:
    return Predictions.load(run / "predictions" / f"{name}.npz")


@pytest.mark.parametrize(
    ("weights", "name"), [("averaged", "test"), ("raw", "test-raw"), ("best", "test-best")]
)
def test_served_numbers_equal_judged_ones(run: Path, weights: str, name: str) -> None:
    theirs = judged(run, name)
    files = [run.parent / "mine" / path for path in theirs.ids]
    predictor = Predictor.of(bundle_of(run, weights=weights, rescaler="none"))
    ours = np.stack([answer.probs for answer in predictor.files(files)])
    np.testing.assert_allclose(ours, theirs.probs, rtol=0, atol=1e-6)
    # The three kinds of weights differ, so that equality says something.
    assert not np.allclose(
        ours, judged(run, "test-raw" if name == "test" else "test").probs, 0, 1e-5
    )


def test_arrays_and_files_get_the_same_answers(run: Path, bundle: Path) -> None:
    predictor = Predictor.load(bundle)
    files = sorted((run.parent / "mine" / "test").rglob("*.png"))
    height, width = predictor.preprocessing.stored
    pictures = [Image.open(path) for path in files]
    assert {(picture.height, picture.width) for picture in pictures} == {(height, width)}
    answers = np.stack([answer.probs for answer in predictor.files(files)])
    np.testing.assert_array_equal(predictor(np.stack([np.array(p) for p in pictures])), answers)
    assert predictor(np.empty((0, height, width, 3), np.uint8)).shape == (0, 2)


def test_a_small_batch_does_not_change_an_answer(run: Path, bundle: Path) -> None:
    whole = Predictor.load(bundle)
    files = sorted((run.parent / "mine" / "train").rglob("*.png"))
    one_by_one = Predictor(
        network=whole.network,
        classes=whole.classes,
        preprocessing=whole.preprocessing,
        rescaler=None,
        batch=1,
    )
    theirs = [answer.probs for answer in whole.files(files)]
    ours = [answer.probs for answer in one_by_one.files(files, workers=1)]
    np.testing.assert_allclose(np.stack(ours), np.stack(theirs), rtol=0, atol=1e-6)


def test_a_rescaler_is_applied_by_hand_too(run: Path, tmp_path: Path) -> None:
    folder = run / "rescaling"
    save_rescaler(Temperature(temperature=3.0), folder / "temperature.json")
    try:
        bundle_of(run, rescaler="temperature").save(tmp_path / "bundle")
    finally:
        (folder / "temperature.json").unlink()
    theirs = judged(run)
    files = [run.parent / "mine" / path for path in theirs.ids]
    ours = np.stack([a.probs for a in Predictor.load(tmp_path / "bundle").files(files)])
    np.testing.assert_allclose(ours, softmax(theirs.logits / 3), rtol=0, atol=1e-6)


def test_unreadable_files_are_answered_with_a_reason(run: Path, bundle: Path) -> None:
    good = next((run.parent / "mine" / "test").rglob("*.png"))
    half = bundle / "half.png"
    half.write_bytes(good.read_bytes()[:200])
    text = bundle / "text.png"
    text.write_text("no picture")
    gone = bundle / "gone.png"
    answers = list(Predictor.load(bundle).files([half, good, text, gone]))
    assert [bool(answer.error) for answer in answers] == [True, False, True, True]
    assert answers[0].probs is None
    assert answers[1].probs is not None
    assert answers[2].error == "it is no picture in a known format"


def test_loading_a_bundle_needs_no_training_code(bundle: Path) -> None:
    code = (
        "import sys\n"
        "from mixcal.serving.predictor import Predictor\n"
        f"predictor = Predictor.load({str(bundle)!r})\n"
        "rooms = {name.split('.')[1] for name in sys.modules if name.startswith('mixcal.')}\n"
        "assert not rooms & {'methods', 'training', 'build', 'run', 'recipe', 'catalog'}, rooms\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_arrays_of_another_shape_are_refused(bundle: Path) -> None:
    predictor = Predictor.load(bundle)
    with pytest.raises(BadInput, match=r"float64 of shape \(2, 24, 20, 3\); this model"):
        predictor(np.zeros((2, 24, 20, 3)))
    with pytest.raises(BadInput, match="this model takes uint8"):
        predictor(np.zeros((2, 9, 9, 3), np.uint8))


def test_foreign_code_is_not_run_unasked(bundle: Path) -> None:
    record = json.loads((bundle / "bundle.json").read_text())
    record["network"] = {"factory": "tests.support.toy:toy_network", "knobs": {}}
    (bundle / "bundle.json").write_text(json.dumps(record))
    with pytest.raises(BadInput, match=r"not part of mixcal; .* --trust tests"):
        Predictor.load(bundle)
    record["network"]["factory"] = "os:system"
    (bundle / "bundle.json").write_text(json.dumps(record))
    with pytest.raises(BadInput, match="not part of mixcal"):
        Predictor.load(bundle)


def test_weights_of_another_network_are_refused(run: Path) -> None:
    bundle = bundle_of(run, rescaler="none")
    knobs = {**bundle.knobs, "channels": 1}
    other = Bundle(
        factory=bundle.factory,
        knobs=knobs,
        classes=bundle.classes,
        preprocessing=bundle.preprocessing,
        tensors=bundle.tensors,
    )
    with pytest.raises(BadInput, match="The weights do not fit"):
        Predictor.of(other)
