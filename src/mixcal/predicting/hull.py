"""Walks away from the data: what a network says of X + μ d for growing μ.

    X′ = X + μ d̂,      d_i ~ U(−1, 1)      (Thulasidasan et al., NeurIPS 2019; arXiv:1905.11001v5,
                                            appendix D)

Differs from the paper: it leaves open what d̂ is. Here it is d / ‖d‖ (`direction="unit"`), or d as
it was drawn (`"raw"`), whose length grows with the number of pixels. Inputs are normalized ones,
and nothing is clipped. One direction is shared by all images; several are walked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mixcal.core.predictions import softmax
from mixcal.core.seeds import derive
from mixcal.judging.hull_walk import READINGS, HullWalk
from mixcal.predicting.strangers import answers

Direction = Literal["unit", "raw"]
# Two distances a decade.
DISTANCES = tuple(10 ** (power / 2) for power in range(-6, 7))
DIRECTIONS = 3
# Logits and features to probabilities.
Finish = Callable[[np.ndarray, np.ndarray], np.ndarray]


def walk(
    network: nn.Module,
    inputs: Callable[[], Iterator[Float[Tensor, "b c h w"]]],
    labels: Int[np.ndarray, " n"],
    *,
    direction: Direction = "unit",
    distances: Sequence[float] = DISTANCES,
    directions: int = DIRECTIONS,
    seed: int = 0,
    finishes: Mapping[str, Finish] | None = None,
    progress: Callable[[int, int], None] = lambda done, whole: None,
) -> HullWalk:
    """Accuracy, mean winning score and mean entropy at each distance, along each direction.

    `inputs` answers the normalized images anew each time; `finishes` are what else makes
    probabilities of the same logits, a rescaler say, by name.
    """
    made = {"as predicted": _plainly} | dict(finishes or {})
    found: dict[str, dict[str, list[list[float]]]] = {
        name: {key: [[] for _ in range(directions)] for key in READINGS} for name in made
    }
    classes = 0
    for place in range(directions):
        for step, distance in enumerate(distances):
            logits, features = answers(
                network, _moved(inputs(), direction, distance, derive(seed, "hull", place))
            )
            classes = logits.shape[1]
            for name, finish in made.items():
                for key, value in readings(finish(logits, features), labels).items():
                    found[name][key][place].append(value)
            progress(place * len(distances) + step + 1, directions * len(distances))
    return HullWalk(
        direction=direction,
        distances=np.array(distances, dtype=np.float64),
        n=len(labels),
        classes=classes,
        readings={
            name: {key: np.array(rows) for key, rows in curves.items()}
            for name, curves in found.items()
        },
    )


def _moved(
    inputs: Iterator[Float[Tensor, "b c h w"]], direction: Direction, distance: float, seed: int
) -> Iterator[Float[Tensor, "b c h w"]]:
    drawn: Tensor | None = None
    for some in inputs:
        if drawn is None:
            drawn = step_of(tuple(some.shape[1:]), direction, seed)
        yield some + distance * drawn


def step_of(shape: tuple[int, ...], direction: Direction, seed: int) -> Float[Tensor, "..."]:
    """One direction: uniform numbers between −1 and 1, of length one if it is to be a unit."""
    generator = torch.Generator().manual_seed(seed)
    drawn = 2 * torch.rand(shape, generator=generator) - 1
    return drawn / drawn.norm() if direction == "unit" else drawn


def readings(probs: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"]) -> dict[str, float]:
    """Accuracy, mean winning score, mean entropy in nats."""
    wide = probs.astype(np.float64)
    return {
        "accuracy": float((wide.argmax(1) == labels).mean()),
        "confidence": float(wide.max(1).mean()),
        "entropy": float(-(wide * np.log(np.maximum(wide, 1e-300))).sum(1).mean()),
    }


def _plainly(logits: np.ndarray, features: np.ndarray) -> np.ndarray:
    return softmax(logits.astype(np.float64))
