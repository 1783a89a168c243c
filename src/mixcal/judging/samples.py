"""Samples: what one pass over the predictions leaves of each sample for the metrics to use."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from mixcal.core.predictions import Kind, Predictions

# Scores handled at a time: a megabyte of float64, so that every step finds them in the cache.
BLOCK = 1 << 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Per sample: confidence, whether the prediction is right, log loss, Brier score (sum)."""

    confidence: Float[np.ndarray, " n"]
    right: Bool[np.ndarray, " n"]
    log_loss: Float[np.ndarray, " n"]
    brier: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, predictions: Predictions) -> Self:
        """One pass in blocks; logits are exponentiated in float64."""
        return cls.of_scores(predictions.scores, predictions.labels, predictions.kind)

    @classmethod
    def of_scores(
        cls, scores: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"], kind: Kind
    ) -> Self:
        """Of plain arrays that have been checked."""
        n, k = scores.shape
        wide = kind == "logits" or scores.dtype != np.float32
        made = cls(
            confidence=np.empty(n, dtype=np.float64 if wide else np.float32),
            right=np.empty(n, dtype=bool),
            log_loss=np.empty(n),
            brier=np.empty(n),
        )
        rows = max(1, BLOCK // k)
        for start in range(0, n, rows):
            part = slice(start, min(start + rows, n))
            made._fill(part, scores[part], labels[part], kind)
        return made

    def _fill(
        self,
        part: slice,
        scores: Float[np.ndarray, "n k"],
        labels: Int[np.ndarray, " n"],
        kind: Kind,
    ) -> None:
        row = np.arange(len(labels))
        predicted = scores.argmax(1)
        self.right[part] = predicted == labels
        if kind == "logits":
            shifted = scores.astype(np.float64)
            shifted -= shifted[row, predicted][:, None]
            own = shifted[row, labels]
            wide = np.exp(shifted, out=shifted)
            total = wide.sum(1)
            wide /= total[:, None]
            self.confidence[part] = 1 / total
            self.log_loss[part] = np.log(total) - own
        else:
            self.confidence[part] = scores[row, predicted]
            wide = scores.astype(np.float64, copy=False)
            with np.errstate(divide="ignore"):
                self.log_loss[part] = -np.log(wide[row, labels])
        # |p|² − p_y² + (1 − p_y)², as one sum less.
        self.brier[part] = np.vecdot(wide, wide) + 1 - 2 * wide[row, labels]

    def __len__(self) -> int:
        return len(self.confidence)

    def take(self, index: Shaped[np.ndarray, " m"]) -> "Samples":
        """The samples at these positions (or where the mask is true)."""
        return Samples(
            confidence=self.confidence[index],
            right=self.right[index],
            log_loss=self.log_loss[index],
            brier=self.brier[index],
        )
