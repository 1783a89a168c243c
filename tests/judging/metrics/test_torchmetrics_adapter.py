"""Adapters for torchmetrics against the numbers of `mixcal judge`: batches, merging, processes."""

import importlib
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.multiprocessing import get_context

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions, softmax
from mixcal.judging.estimates import INTERVALS
from mixcal.judging.metrics.human import against_people
from mixcal.judging.metrics.out_of_distribution import Detection, foreignness
from mixcal.judging.metrics.proximity import piece, proximity
from mixcal.judging.metrics.torchmetrics_adapter import (
    BinnedError,
    ClasswiseError,
    ForeignScore,
    HumanScore,
    OrderedScore,
    ProximityError,
    torchmetric,
)
from mixcal.judging.samples import Samples
from mixcal.judging.summary import summarized

CLASSES = 4
EXACT = {"rel": 1e-12, "abs": 1e-14}


def drawn(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    logits = 2 * generator.standard_normal((n, CLASSES))
    probs = softmax(logits)
    labels = (probs.cumsum(1) < generator.random((n, 1))).sum(1).clip(0, CLASSES - 1)
    return (1.5 * logits).astype(np.float32), labels


def fed(metric, scores: np.ndarray, labels: np.ndarray, sizes=(1, 99, 150, 50)):
    parts = np.split(np.arange(len(labels)), np.cumsum(sizes)[:-1])
    for part in parts:
        metric.update(torch.from_numpy(scores[part]), torch.from_numpy(labels[part]))
    return metric


@cache
def judged(kind: str = "logits", like: str = "mixcal") -> dict:
    logits, labels = drawn()
    scores = {"logits": logits} if kind == "logits" else {"probs": softmax(logits)}
    return summarized(Predictions.of(labels, **scores), level=0.9, like=like)["metrics"]


def test_every_printed_metric_in_batches() -> None:
    logits, labels = drawn()
    for name in INTERVALS:
        metric = fed(torchmetric(name, kind="logits", classes=CLASSES), logits, labels)
        assert metric.compute().item() == pytest.approx(judged()[name]["value"], **EXACT), name
        metric.reset()
        fed(metric, logits, labels, sizes=(150, 150))
        assert metric.compute().item() == pytest.approx(judged()[name]["value"], **EXACT), name


@pytest.mark.parametrize(
    "name", ["ece", "mce", "debiased_ece", "classwise_ece", "nll", "error", "aurc", "smooth_ece"]
)
def test_intervals(name: str) -> None:
    logits, labels = drawn()
    metric = fed(torchmetric(name, kind="logits", classes=CLASSES), logits, labels)
    found, made = metric.estimate(0.9), judged()[name]
    assert found.value == pytest.approx(made["value"], **EXACT)
    assert (found.low, found.high) == pytest.approx((made["low"], made["high"]), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    "like", ["torch-uncertainty", "scikit-learn", "mapie", "rankmixup", "proximity-bias", "pycalib"]
)
def test_conventions(like: str) -> None:
    logits, labels = drawn()
    probs, made = softmax(logits), judged("probs", like)
    for name in ("ece", "mce", "oe", "debiased_ece", "adaptive_ece", "classwise_ece"):
        metric = torchmetric(name, kind="probs", classes=CLASSES, like=like)
        found = fed(metric, probs, labels).compute().item()
        assert found == pytest.approx(made[name]["value"], **EXACT), name
    for name in ("brier", "nll", "aurc"):
        found = fed(torchmetric(name, kind="probs", like=like), probs, labels)
        assert found.compute().item() == pytest.approx(made[name]["value"], **EXACT), name


def test_the_package_says_the_same_by_its_convention() -> None:
    from torchmetrics.classification import MulticlassCalibrationError

    logits, labels = drawn()
    probs = softmax(logits)
    probs[:40] = np.eye(CLASSES, dtype=np.float32)[labels[:40] * 0]
    for norm, name in (("l1", "ece"), ("l2", "rms_ce"), ("max", "mce")):
        theirs = fed(MulticlassCalibrationError(CLASSES, n_bins=15, norm=norm), probs, labels)
        ours = fed(BinnedError(name, kind="probs", like="torchmetrics"), probs, labels)
        assert ours.compute().item() == pytest.approx(theirs.compute().item(), rel=2e-6), name


def test_forward_gives_the_batch_and_keeps_the_whole() -> None:
    logits, labels = (torch.from_numpy(array) for array in drawn())
    metric = BinnedError(kind="logits")
    first = metric(logits[:100], labels[:100])
    second = metric(logits[100:], labels[100:])
    alone = BinnedError(kind="logits")
    alone.update(logits[100:], labels[100:])
    assert second.item() == alone.compute().item() != first.item()
    whole = BinnedError(kind="logits")
    whole.update(logits, labels)
    assert metric.compute().item() == pytest.approx(whole.compute().item(), **EXACT)


@pytest.mark.parametrize("name", ["ece", "classwise_ece", "nll", "adaptive_ece"])
def test_states_merge_and_save(name: str) -> None:
    logits, labels = drawn()

    def fresh():
        return torchmetric(name, kind="logits", classes=CLASSES)

    whole = fed(fresh(), logits, labels)
    first = fed(fresh(), logits[:120], labels[:120], sizes=(60, 60))
    second = fed(fresh(), logits[120:], labels[120:], sizes=(180,))
    first.merge_state(second)
    assert first.compute().item() == pytest.approx(whole.compute().item(), **EXACT)
    whole.persistent(True)
    again = fresh()
    again.persistent(True)
    again.load_state_dict(whole.state_dict())
    again._update_count = 1
    assert again.compute().item() == whole.compute().item()


def held_bytes(metric) -> int:
    tensors = [
        part
        for state in metric.metric_state.values()
        for part in (state if isinstance(state, list) else [state])
    ]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def test_states_do_not_grow_with_the_samples() -> None:
    logits, labels = drawn(2000)
    sizes = {}
    for metric in (BinnedError(kind="logits"), ClasswiseError(CLASSES, kind="logits")):
        fed(metric, logits[:100], labels[:100], sizes=(100,))
        before = held_bytes(metric)
        fed(metric, logits, labels, sizes=(1000, 1000))
        assert held_bytes(metric) == before
        sizes[type(metric).__name__] = before
    assert sizes["BinnedError"] == 8 * (5 * 15 + 2)
    assert sizes["ClasswiseError"] == 8 * (3 * CLASSES * 15 + 3)
    ordered = fed(OrderedScore("ks", kind="probs"), softmax(logits), labels, sizes=(2000,))
    assert held_bytes(ordered) == 2000 * 5 + 16


def test_counts_stay_exact_where_float32_cannot_count() -> None:
    # In float32, 2 ** 24 + 1 is 2 ** 24.
    metric = BinnedError(kind="probs")
    metric.update(torch.tensor([[0.625, 0.375]] * 4), torch.tensor([0, 0, 1, 1]))
    for state in (metric.counts, metric.right, metric.confidence):
        state *= 10_000_000
    metric.update(torch.tensor([[0.625, 0.375]]), torch.tensor([0]))
    assert int(metric.counts.sum()) == 40_000_001
    assert metric.compute().item() == pytest.approx(0.125, rel=1e-7)


def one_of_two(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2
    )
    logits, labels = drawn()
    part = slice(0, 130) if rank == 0 else slice(130, 300)
    found = []
    for name in ("ece", "classwise_ece", "brier", "smooth_ece"):
        metric = torchmetric(name, kind="logits", classes=CLASSES)
        fed(metric, logits[part], labels[part], sizes=(50, len(labels[part]) - 50))
        found.append([metric.compute().item(), metric.estimate(0.9).low])
    np.save(f"{folder}/{rank}.npy", found)
    torch.distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processes_add_up(tmp_path: Path) -> None:
    context = get_context("fork")
    workers = [context.Process(target=one_of_two, args=(r, str(tmp_path))) for r in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    made = judged()
    for rank in range(2):
        found = np.load(tmp_path / f"{rank}.npy")
        for row, name in zip(found, ("ece", "classwise_ece", "brier", "smooth_ece"), strict=True):
            assert row[0] == pytest.approx(made[name]["value"], **EXACT), name
            assert row[1] == pytest.approx(made[name]["low"], rel=1e-6), name


def test_people() -> None:
    logits, labels = drawn()
    votes = np.random.default_rng(1).multinomial(50, softmax(logits.astype(np.float64)))
    people = votes / 50
    made = Predictions.of(labels, logits=logits)
    whole = against_people(
        Predictions(
            scores=made.scores,
            kind="logits",
            labels=labels,
            classes=made.classes,
            ids=made.ids,
            label_distributions=people,
        )
    )
    for name in ("cross_entropy", "divergence", "total_variation", "calibration_error"):
        metric = fed(HumanScore(name, kind="logits"), logits, people)
        expected = getattr(whole, name).value
        assert metric.compute().item() == pytest.approx(expected, **EXACT), name


def test_foreign_samples_and_neighbors() -> None:
    logits, labels = drawn()
    foreign = np.arange(300) % 3 == 0
    logits[foreign] /= 3
    scores = foreignness(Predictions.of(labels, logits=logits), "energy")
    whole = Detection.of(scores[~foreign], scores[foreign])
    for name, value in (("auroc", whole.auroc.value), ("fpr95_in", whole.fpr95_in.value)):
        metric = fed(ForeignScore(name, kind="logits", score="energy"), logits, foreign)
        assert metric.compute().item() == pytest.approx(value, **EXACT), name
        assert metric.higher_is_better == (name == "auroc")
    features = np.random.default_rng(2).standard_normal((300, 6))
    metric = ProximityError(kind="logits")
    for part in (slice(0, 120), slice(120, 300)):
        metric.update(*(torch.from_numpy(a[part]) for a in (logits, labels, features)))
    samples = Samples.of_scores(logits, labels, "logits")
    near = proximity(features, features, same=True)
    assert metric.compute().item() == pytest.approx(
        piece(samples.confidence, samples.right, near).expected_error(), **EXACT
    )


def test_half_precision_scores_count_as_what_they_are() -> None:
    logits, labels = (torch.from_numpy(array) for array in drawn())
    for dtype in (torch.float16, torch.bfloat16):
        half = BinnedError(kind="logits")
        half.update(logits.to(dtype), labels)
        wide = BinnedError(kind="logits")
        wide.update(logits.to(dtype).float(), labels)
        assert half.compute().item() == wide.compute().item()


def test_contradictions_are_named_once_they_are_none_by_chance() -> None:
    logits, labels = drawn()
    probs = softmax(logits)
    with pytest.raises(BadInput, match="if these are logits, say logits"):
        fed(BinnedError(kind="probs"), logits, labels)
    alone = fed(BinnedError(kind="logits"), probs[:1], labels[:1], sizes=(1,))
    assert 0 <= alone.compute().item() <= 1
    with pytest.raises(BadInput, match=r'all 8 rows of the logits .* say kind="probs"'):
        fed(alone, probs[1:8], labels[1:8], sizes=(1,) * 7).compute()
    with pytest.raises(BadInput, match="label 4 of row 0 is outside"):
        fed(BinnedError(kind="logits"), logits, labels * 0 + 4)
    with pytest.raises(BadInput, match="holds NaN"):
        fed(BinnedError(kind="logits"), logits * np.nan, labels)
    with pytest.raises(BadInput, match="scores of 4 classes came to a metric of 5"):
        fed(ClasswiseError(5, kind="logits"), logits, labels)
    with pytest.raises(BadInput, match="there is no metric 'eec'"):
        torchmetric("eec", kind="logits")
    with pytest.raises(BadInput, match="give classes="):
        torchmetric("classwise_ece", kind="logits")
    with pytest.raises(BadInput, match="'nll' does not come from bins"):
        BinnedError("nll", kind="logits")


def test_without_torchmetrics_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    monkeypatch.delitem(sys.modules, "mixcal.judging.metrics.torchmetrics_state")
    with pytest.raises(ModuleNotFoundError, match="run pip install torchmetrics"):
        importlib.import_module("mixcal.judging.metrics.torchmetrics_state")
