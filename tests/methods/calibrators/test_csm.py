"""CSM's loss by hand, its labels and options against the store they come from."""

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from mixcal.catalog import make
from mixcal.core.errors import BadInput
from mixcal.core.protocols import Calibrator
from mixcal.data.mixed_store import MixedStore
from mixcal.methods.calibrators.csm import csm
from mixcal.methods.objectives.supervised import Supervised
from tests.support.mixed import noise_store, soft_file
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network

FACTS = toy_facts(unlabeled=0, class_names=("a", "b", "c", "d"), image_shape=(6, 6, 1), splits="s0")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("csm") / "store"
    noise_store(path, sets=24, shares=True)
    return str(path)


def losses(calibrator: Calibrator) -> dict[str, float]:
    batch = toy_batch()
    network = toy_network().train()
    outcome = Supervised(calibrator)(network, batch, toy_clock())
    return {name: value.item() for name, value in outcome.losses.items()}


def by_hand() -> tuple[float, float]:
    """Cross-entropy of the labeled rows, mean squared distance of the mixed ones."""
    batch, network = toy_batch(), toy_network().train()
    logits = network(batch.labeled.inputs).logits
    labeled = torch.nn.functional.cross_entropy(logits, batch.labeled.targets).item()
    rows = batch.extra["synthetic"]
    probs = network(rows.inputs).logits.softmax(1)
    return labeled, (probs - rows.targets).square().sum(1).mean().item()


def test_the_loss_by_hand(store: str) -> None:
    labeled, distance = by_hand()
    mean = losses(csm(FACTS, images=store))
    assert mean["labeled"] == pytest.approx(labeled, rel=1e-5)
    assert mean["synthetic"] == pytest.approx(distance / 4, rel=1e-5)
    total = losses(csm(FACTS, images=store, class_reduction="sum", weight=2.0))
    assert total["synthetic"] == pytest.approx(2 * distance, rel=1e-5)
    each = csm(FACTS, images=store, class_reduction="sum", aug_reduction="per_dataset_sample")
    assert losses(each)["synthetic"] == pytest.approx(2 * distance, rel=1e-5)


def test_the_worked_numbers() -> None:
    from mixcal.methods.calibrators.csm import _criterion

    logits = torch.tensor([[0.6, 0.3, 0.1]]).log()
    targets = torch.tensor([[0.75, 0.25, 0.0]])
    assert _criterion("l2", 3.0, "sum")(logits, targets).item() == pytest.approx(0.035)
    assert _criterion("l2", 3.0, "mean")(logits, targets).item() == pytest.approx(0.035 / 3)
    soft = -(0.75 * np.log(0.6) + 0.25 * np.log(0.3))
    found = _criterion("cross-entropy", 3.0, "sum")(logits, targets).item()
    assert found == pytest.approx(soft, rel=1e-6)
    focal = -(0.75 * 0.4 * np.log(0.6) + 0.25 * 0.7 * np.log(0.3))
    assert _criterion("focal", 1.0, "sum")(logits, targets).item() == pytest.approx(focal, rel=1e-6)


def test_a_shared_pass_is_another_batch_norm_batch(store: str) -> None:
    calibrator = csm(FACTS, images=store, joint_forward=True)
    batch, network = toy_batch(), toy_network().train()
    rows = batch.extra["synthetic"]
    logits = network(torch.cat([batch.labeled.inputs, rows.inputs])).logits
    expected = (logits[len(batch.labeled) :].softmax(1) - rows.targets).square().mean().item()
    found = losses(calibrator)
    assert found["synthetic"] == pytest.approx(expected, rel=1e-5)
    assert found["labeled"] != pytest.approx(by_hand()[0], rel=1e-5)


def targets_of(calibrator: Calibrator) -> np.ndarray:
    supply = calibrator.supplies["synthetic"]
    return supply.targets(np.arange(len(supply))).numpy().reshape(-1, 8, 4)


def test_labels_are_the_annotations(store: str) -> None:
    opened = MixedStore.open(Path(store))
    annotation = opened.annotation()
    assert annotation is not None
    found = targets_of(csm(FACTS, images=store))
    for row, (first, second) in enumerate(opened.pairs):
        assert found[row, :, first] == pytest.approx(annotation.weights[row], abs=1e-6)
        assert found[row, :, second] == pytest.approx(1 - annotation.weights[row], abs=1e-6)
    assert found.sum(-1) == pytest.approx(np.ones((24, 8)), abs=1e-6)


def test_another_s_needs_no_new_annotation(store: str) -> None:
    opened = MixedStore.open(Path(store))
    annotation = opened.annotation()
    assert annotation is not None
    found = targets_of(csm(FACTS, images=store, s=2.3))
    expected = 1 / (1 + np.exp(-2.3 * (annotation.projections - 0.5)))
    for row, (first, _) in enumerate(opened.pairs):
        assert found[row, :, first] == pytest.approx(expected[row], abs=1e-6)
    same = targets_of(csm(FACTS, images=store, s=4.0))
    assert same == pytest.approx(targets_of(csm(FACTS, images=store)), abs=1e-6)


def test_the_variants_of_table_6(store: str) -> None:
    opened = MixedStore.open(Path(store))
    generation = targets_of(csm(FACTS, images=store, labels="generation"))
    first = opened.pairs[:, 0]
    rows = np.arange(24)
    assert generation[rows, :, first] == pytest.approx(np.tile(opened.positions, (24, 1)), abs=1e-6)
    shares = targets_of(csm(FACTS, images=store, labels="shares"))
    annotation = opened.annotation()
    assert annotation is not None
    assert annotation.targets is not None
    assert np.array_equal(shares, annotation.targets)
    pure = csm(FACTS, images=store, labels="one-hot", n_aug=3).supplies["synthetic"]
    drawn = pure.draw(np.repeat(np.arange(4), 20), np.random.default_rng(0))
    assert pure.targets(drawn).numpy() == pytest.approx(np.eye(4)[np.repeat(np.arange(4), 60)])


def test_part_of_a_store(store: str) -> None:
    supply = csm(FACTS, images=store, sets=6).supplies["synthetic"]
    assert len(supply) == 48
    whole = csm(FACTS, images=store).supplies["synthetic"]
    assert torch.equal(supply.take(np.arange(48)), whole.take(np.arange(48)))


def test_unfinished_sets_are_left_out(tmp_path: Path) -> None:
    made = noise_store(tmp_path / "store", sets=12, annotated=False)
    done = np.load(made.path / "done.npy", mmap_mode="r+")
    done[[0, 7]] = False
    done.flush()
    supply = csm(FACTS, images=str(made.path), labels="generation").supplies["synthetic"]
    assert len(supply) == 80
    assert np.array_equal(supply.take(np.arange(8, 9))[0, 0], made.images[2, 0, :, :, 0])
    assert np.array_equal(supply.take(np.arange(48, 49))[0, 0], made.images[8, 0, :, :, 0])


def test_an_npz_enters_by_the_same_knob(tmp_path: Path) -> None:
    calibrator = csm(FACTS, images=str(soft_file(tmp_path / "soft.npz")), n_aug=2)
    assert len(calibrator.supplies["synthetic"]) == 40
    assert np.isfinite(losses(calibrator)["synthetic"])
    assert "40 of soft.npz" in calibrator.remarks[0]
    assert len(calibrator.remarks) == 1


def test_a_file_is_named_by_its_contents(tmp_path: Path) -> None:
    path = soft_file(tmp_path / "soft.npz")
    known = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    assert known in csm(FACTS, images=str(path)).remarks[0]


def test_rows_of_all_classes_are_paired_uniformly_and_it_is_said(tmp_path: Path) -> None:
    targets = np.full((9, 4), 0.25, dtype=np.float32)
    images = np.zeros((9, 6, 6), dtype=np.uint8)
    np.savez(tmp_path / "all.npz", images=images, targets=targets)
    said = csm(FACTS, images=str(tmp_path / "all.npz")).remarks
    assert "every row of all.npz contains every class" in said[1]
    assert len(csm(FACTS, images=str(tmp_path / "all.npz"), pairing="uniform").remarks) == 1


def test_runs_say_which_images_they_saw(store: str) -> None:
    remarks = csm(FACTS, images=store).remarks
    assert len(remarks) == 1
    assert "24 sets of generator g0, annotated by tiny" in remarks[0]
    other = csm(toy_facts(unlabeled=0, splits="else"), images=store).remarks
    assert "may have seen images that this run holds back" in other[1]


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"images": ""}, "csm needs images"),
        ({"labels": "generation", "s": 2.0}, "s is for the labels"),
        ({"sets": 25}, "24 finished sets; csm asks for 25"),
        ({"sets": -5}, "sets is -5"),
        *(({"s": value}, f"s is {value}") for value in (math.nan, math.inf, -1.0)),
        *(({"weight": value}, f"weight is {value}") for value in (math.nan, math.inf, -1.0)),
        *(({"gamma": value}, f"gamma is {value}") for value in (math.nan, -3.0)),
        ({"labels": "shares", "s": 2.0}, "s is for the labels"),
        ({"labels": "one-hot", "s": 2.0}, "s is for the labels"),
    ],
)
def test_mistakes_are_one_sentence(store: str, knobs: dict, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make("calibrator", "csm", {"images": store} | knobs, FACTS)


def test_images_that_do_not_fit_are_refused(store: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has the classes a, b, c, d"):
        csm(toy_facts(class_names=("a", "b", "c", "e")), images=store)
    with pytest.raises(BadInput, match=r"\(6, 6, 1\), the data \(8, 8, 1\)"):
        csm(toy_facts(image_shape=(8, 8, 1)), images=store)
    few = noise_store(tmp_path / "few", sets=1)
    with pytest.raises(BadInput, match="no image of class 2"):
        csm(toy_facts(), images=str(few.path))
    csm(toy_facts(), images=str(few.path), pairing="uniform")
    bare = noise_store(tmp_path / "bare", annotated=False)
    with pytest.raises(BadInput, match="is not annotated; run"):
        csm(FACTS, images=str(bare.path))
    plain = noise_store(tmp_path / "plain")
    with pytest.raises(BadInput, match="annotate it again with --shares"):
        csm(FACTS, images=str(plain.path), labels="shares")
