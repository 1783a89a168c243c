"""CSM: training on images between two classes (Luo et al., ICML 2025; arXiv:2504.13548v2).

    L = CE(x, y) + w · mean_a L2(p_a, q_a),   L2(p, q) = ‖p − q‖² / K         (Equations 13, 14)

Every labeled image brings `n_aug` mixed ones, made by `mixcal synthesize`, of a pair with its class
(see `data/mixed_images.py`). q_a = λ e_c1 + (1 − λ) e_c2 with λ = σ(s (λ_E − ½)) of the images'
annotation; `s` is that of the annotation unless given, so that another one needs no new annotation.

- `labels`: "annotation"; "generation" (λ̂), "shares" (the softmax over all prototypes) and
  "one-hot" (pure ends only) are the variants 2, 3 and 4 of Table 6;
- `n1`: what one copy alone is, a member of the interior (ours) or y's end (the code's scheme);
- `class_reduction`: "mean" is Equation 13; "sum", without 1/K, is the published code, and what all
  recipes take;
- `aug_reduction`: "mean" over the mixed images as in the code, or, as Equation 14 sums,
  "per_dataset_sample": `n_aug` times that;
- `loss`: "cross-entropy" and "focal" are the variants 8 and 9;
- `sets`: how many sets of the store are used (Figure 7); 0: all.

The mixed images have a pass of their own after the main one, or share it (`joint_forward`).
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float32, Int

from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.core.outcome import Outcome
from mixcal.core.protocols import Calibrator, Criterion
from mixcal.core.quantities import Amount, Positive, Range, Size
from mixcal.core.step import StepOutput
from mixcal.data.mixed_images import (
    N1,
    MixedSets,
    Pairing,
    SoftImages,
    identity,
    identity_of_file,
    projected_weights,
    sets_by_class,
    soft_images,
    two_hot,
)
from mixcal.data.mixed_store import MixedStore
from mixcal.methods.losses.brier import brier
from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.focal import focal

Labels = Literal["annotation", "generation", "shares", "one-hot"]
Loss = Literal["l2", "cross-entropy", "focal"]
ROWS = "synthetic"


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedImagesTerm:
    """The loss of the mixed images."""

    criterion: Criterion
    weight: float
    joint_forward: bool

    def __call__(self, step: StepOutput, clock: Clock) -> Outcome:
        rows = step.batch.extra[ROWS]
        found = step.activations if self.joint_forward else step.forward(rows)
        logits = found[ROWS].logits
        loss = self.criterion(logits, rows.targets).mean()
        distance = brier(logits.detach(), rows.targets).mean()
        return Outcome({"synthetic": self.weight * loss}, {"synthetic_distance": distance})


def csm(
    facts: DataFacts,
    *,
    images: str = "",
    n_aug: Annotated[int, Range(1, 3)] = 2,
    n1: N1 = "interior",
    pairing: Pairing = "class_matched",
    labels: Labels = "annotation",
    # Above 0, as no class has a share of its own otherwise.
    s: Positive | None = None,
    loss: Loss = "l2",
    gamma: Size = 3.0,
    class_reduction: Literal["mean", "sum"] = "mean",
    aug_reduction: Literal["mean", "per_dataset_sample"] = "mean",
    weight: Size = 1.0,
    joint_forward: bool = False,
    sets: Amount = 0,
) -> Calibrator:
    """Mixed images beside the labeled ones. `images`: a store's folder, or an .npz."""
    if weight == 0:
        return Calibrator()
    if not images:
        raise BadInput(
            "csm needs images: make a store with `mixcal synthesize`, and name its folder, or an "
            ".npz, as `images`."
        )
    path = Path(images).expanduser()
    supply: MixedSets | SoftImages
    remarks: tuple[str, ...]
    if path.suffix == ".npz":
        if labels != "annotation" or s is not None or sets:
            raise BadInput("csm: labels, s and sets are for stores; an .npz has its own targets.")
        supply = soft_images(path, classes=facts.classes, copies=n_aug, pairing=pairing)
        remarks = _remarks_of_file(path, supply)
    else:
        store = MixedStore.open(path)
        supply = _sets_of(store, facts, labels, s, sets, n_aug, n1, pairing)
        remarks = _remarks(store, facts, len(supply.images))
    _check(path, supply, facts, pairing)
    factor = n_aug if aug_reduction == "per_dataset_sample" else 1
    term = MixedImagesTerm(
        criterion=_criterion(loss, gamma, class_reduction),
        weight=weight * factor,
        joint_forward=joint_forward,
    )
    return Calibrator(
        terms={"synthetic": term},
        supplies={ROWS: supply},
        beside=frozenset({ROWS}) if joint_forward else frozenset(),
        remarks=remarks,
    )


def _criterion(loss: Loss, gamma: float, class_reduction: str) -> Criterion:
    if loss == "cross-entropy":
        return cross_entropy
    if loss == "focal":
        return partial(focal, gamma=gamma)
    return partial(brier, reduction="sum" if class_reduction == "sum" else "mean_K")


def _sets_of(
    store: MixedStore,
    facts: DataFacts,
    labels: Labels,
    s: float | None,
    most: int,
    copies: int,
    n1: N1,
    pairing: Pairing,
) -> MixedSets:
    """The finished sets of a store with the labels asked for."""
    if facts.class_names and store.classes != facts.class_names:
        raise BadInput(
            f"{store.path} has the classes {', '.join(store.classes[:5])} …, the data "
            f"{', '.join(facts.class_names[:5])} …; take images made for these data."
        )
    done = np.flatnonzero(store.done)
    done = done[:most] if most else done
    if not len(done):
        raise BadInput(
            f"{store.path} has no finished set; go on with `mixcal synthesize generate`."
        )
    if most > len(done):
        raise BadInput(f"{store.path} has {len(done):,} finished sets; csm asks for {most:,}.")
    pairs = np.asarray(store.pairs[done])
    shares = np.tile(store.positions, (len(done), 1))
    distributions = None
    if s is not None and labels != "annotation":
        raise BadInput(f'csm: s is for the labels "annotation"; leave it out with "{labels}".')
    if labels in ("annotation", "shares"):
        shares, distributions = _annotated(store, done, s, whole=labels == "shares")
    if distributions is None:
        distributions = two_hot(pairs, shares, len(store.classes))
    members = store.images.shape[1]
    return MixedSets(
        # A map stays a map where it is used whole.
        images=store.images if len(done) == len(store) else store.images[: done[-1] + 1][done],
        pairs=pairs,
        order=np.argsort(-shares, axis=1, kind="stable").reshape(-1, members),
        distributions=distributions,
        by_class=sets_by_class(pairs, len(store.classes)),
        copies=copies,
        n1=n1,
        pairing=pairing,
        ends=labels == "one-hot",
    )


def _annotated(
    store: MixedStore, done: Int[np.ndarray, " d"], s: float | None, *, whole: bool
) -> tuple[Float32[np.ndarray, "d m"], Float32[np.ndarray, "d m k"] | None]:
    """λ of the finished sets, and the shares of all classes where they are wanted."""
    annotation = store.annotation()
    if annotation is None:
        raise BadInput(
            f"{store.path} is not annotated; run `mixcal synthesize annotate {store.path}`, or "
            'take labels = "generation".'
        )
    if whole and annotation.targets is None:
        raise BadInput(
            f"{store.path} has no shares of all classes; annotate it again with --shares."
        )
    shares = annotation.weights[done]
    if s is not None:
        if annotation.record["rule"] != "projected":
            raise BadInput(
                f"{store.path} is annotated by the direct rule, which has no s; leave s out."
            )
        shares = projected_weights(annotation.projections[done], scale=s)
    targets = annotation.targets
    return np.asarray(shares), targets[done] if whole and targets is not None else None


def _check(path: Path, supply: MixedSets | SoftImages, facts: DataFacts, pairing: Pairing) -> None:
    """Refuse images of another shape, and classes that no image is of."""
    shape = supply.images.shape[-3:]
    if facts.image_shape is not None and shape != tuple(facts.image_shape):
        raise BadInput(
            f"{path} holds images of height, width and channels {shape}, the data "
            f"{tuple(facts.image_shape)}; take images made for these data."
        )
    if pairing == "uniform":
        return
    for label, count in enumerate(facts.class_counts):
        if count and not supply.by_class.counts[label]:
            name = facts.class_names[label] if facts.class_names else label
            raise BadInput(
                f"{path} has no image of class {name!r}, which the labeled images have; generate "
                'more sets, or take pairing = "uniform".'
            )


def _remarks_of_file(path: Path, supply: SoftImages) -> tuple[str, ...]:
    """Which images these are, and whether their pairing does what its name says."""
    found = [f"Mixed images {identity_of_file(path)}: {len(supply):,} of {path.name}."]
    if supply.pairing == "class_matched" and (supply.by_class.counts == len(supply)).all():
        found.append(
            f"Class-matched pairing was uniform: every row of {path.name} contains every class."
        )
    return tuple(found)


def _remarks(store: MixedStore, facts: DataFacts, sets: int) -> tuple[str, ...]:
    """Which images these are, and what the generator saw that this run holds back."""
    header = store.header
    annotation = header.get("annotation")
    by = f"annotated by {annotation['encoder']}" if annotation else "not annotated"
    found = [
        f"Mixed images {identity(store)}: {sets:,} sets of generator "
        f"{header['generator'][:12]}, {by}."
    ]
    if facts.splits and header["splits"] != facts.splits:
        found.append(
            f"The generator of the mixed images was trained on another split ({header['splits']} "
            f"and not {facts.splits}): it may have seen images that this run holds back."
        )
    return tuple(found)
