"""Sets of classes that hold the true one with a given probability: split conformal prediction.

    q = the ⌈(n + 1)(1 − α)⌉-th smallest score of n held-out samples (+∞ if that exceeds n)
    set(x) = { k : score(x, k) ≤ q },        P(true class in the set) ≥ 1 − α

Scores: LAC, 1 − p_k (Sadinle, Lei and Wasserman, JASA 2019; arXiv:1609.00451v2). APS, the summed
probability of the classes from the likeliest to k (Romano, Sesia and Candès, NeurIPS 2020;
arXiv:2006.02544v1). RAPS, APS + λ max(rank_k − r, 0) (Angelopoulos et al., ICLR 2021;
arXiv:2009.14193v5). As in the papers, with two choices of ours: scores of APS and RAPS are not
randomized unless `randomize` is set (without, sets are larger than they must be), and the likeliest
class is always in the set unless `allow_empty` is set; neither lowers the coverage.

The promise is for samples drawn as the held-out ones were, on average over both. It needs scores
that did not see the held-out labels, so sets are made from probabilities before rescaling.
"""

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from jaxtyping import Bool, Float, Int

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions, check_labels, check_scores
from mixcal.judging.apart import check_held_out

Score = Literal["lac", "aps", "raps"]
SCORES = ("lac", "aps", "raps")
# What a fit finds; everything else is a knob.
FOUND = ("threshold", "n")
WHERE = "the data to make sets from"


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionSets:
    """A threshold that turns probabilities into sets. `threshold` is +∞ where n is too small."""

    score: str
    coverage: float
    threshold: float
    n: int
    penalty: float = 0.0
    free_ranks: int = 0
    randomize: bool = False
    allow_empty: bool = False
    seed: int = 0

    @classmethod
    def fit(
        cls,
        probs: Float[np.ndarray, "n k"],
        labels: Int[np.ndarray, " n"],
        *,
        score: str = "lac",
        coverage: float = 0.9,
        penalty: float = 0.01,
        free_ranks: int = 5,
        randomize: bool = False,
        allow_empty: bool = False,
        seed: int = 0,
    ) -> Self:
        """From held-out probabilities; `penalty` and `free_ranks` are λ and r of RAPS."""
        if score not in SCORES:
            raise BadInput(f"The score is {score!r}; it is one of {', '.join(SCORES)}.")
        if not 0 < coverage < 1:
            raise BadInput(f"coverage is {coverage}; it must lie between 0 and 1.")
        if penalty < 0 or free_ranks < 0:
            raise BadInput(f"penalty {penalty} and free_ranks {free_ranks} must not be negative.")
        check_scores(probs, "probs", where=WHERE)
        check_labels(labels, *probs.shape, where=WHERE)
        raps = score == "raps"
        unfitted = cls(
            score=score,
            coverage=coverage,
            threshold=math.inf,
            n=len(labels),
            penalty=penalty if raps else 0.0,
            free_ranks=free_ranks if raps else 0,
            randomize=randomize,
            allow_empty=allow_empty,
            seed=seed,
        )
        own = unfitted._scores(probs, 0)[np.arange(len(labels)), labels]
        return cls(**{**asdict(unfitted), "threshold": quantile(own, coverage)})

    def sets(self, probs: Float[np.ndarray, "n k"]) -> Bool[np.ndarray, "n k"]:
        """Which classes are in each sample's set."""
        inside = self._scores(probs, 1) <= self.threshold
        if not self.allow_empty:
            inside[np.arange(len(probs)), probs.argmax(1)] = True
        return inside

    def save(self, path: Path) -> None:
        """As JSON; +∞ is written as null."""
        record = asdict(self)
        record["threshold"] = None if math.isinf(self.threshold) else self.threshold
        Path(path).write_text(json.dumps({"sets": record}, indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Self:
        """What `save` wrote."""
        try:
            record = json.loads(Path(path).read_text())["sets"]
            threshold = record["threshold"]
            return cls(**{**record, "threshold": math.inf if threshold is None else threshold})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise BadInput(
                f"{path} holds no prediction sets that mixcal saved ({error}); "
                "fit them anew with `mixcal rescale --sets`."
            ) from None

    def _scores(self, probs: Float[np.ndarray, "n k"], stream: int) -> Float[np.ndarray, "n k"]:
        """The score of every class; `stream` keeps draws for fitting and for using apart."""
        wide = probs.astype(np.float64)
        if self.score == "lac":
            return 1 - wide
        order = np.argsort(-wide, axis=1, kind="stable")
        ranked = np.take_along_axis(wide, order, axis=1)
        reached = np.cumsum(ranked, axis=1)
        if self.randomize:
            draws = np.random.default_rng([self.seed, stream]).random((len(wide), 1))
            reached -= draws * ranked
        rank = np.arange(1, wide.shape[1] + 1)
        reached += self.penalty * np.maximum(rank - self.free_ranks, 0)
        scores = np.empty_like(reached)
        np.put_along_axis(scores, order, reached, axis=1)
        return scores


def quantile(scores: Float[np.ndarray, " n"], coverage: float) -> float:
    """The ⌈(n + 1) · coverage⌉-th smallest, +∞ where there are fewer."""
    # Without the small step back, 0.9 · 10 rounds up to 10 instead of 9.
    rank = math.ceil((len(scores) + 1) * coverage - 1e-9)
    return float(np.partition(scores, rank - 1)[rank - 1]) if rank <= len(scores) else math.inf


def fit_sets(predictions: Predictions, **knobs: Any) -> PredictionSets:
    """Sets from predictions that are not those of the test data."""
    check_held_out(predictions, what="sets", itself="themselves")
    known = [field.name for field in fields(PredictionSets) if field.name not in FOUND]
    for key in knobs:
        if key not in known:
            raise BadInput(f"Sets have no knob {key!r}; there are {', '.join(known)}.")
    return PredictionSets.fit(predictions.probs, predictions.labels, **knobs)
