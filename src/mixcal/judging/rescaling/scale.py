"""How large logits are: what they are divided by before a linear map of them is fitted."""

import warnings

import numpy as np
from jaxtyping import Float, Int

from mixcal.judging.rescaling.fitting_data import NoOptimum
from mixcal.judging.rescaling.temperature import Temperature


def scale_of(logits: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"]) -> float:
    """The best temperature; where there is none, the root mean square about each row's mean."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoOptimum)
        fitted = Temperature.fit(logits, labels)
        if not fitted.at_bound:
            return fitted.temperature
        # The bound may be that of the unit only.
        spread = _spread(logits)
        fitted = Temperature.fit(logits / spread, labels)
    return spread if fitted.at_bound else spread * fitted.temperature


def _spread(logits: Float[np.ndarray, "n k"]) -> float:
    means = logits.mean(1, keepdims=True, dtype=np.float64)
    largest = float(np.abs(logits - means).max())
    if largest == 0:
        return 1.0
    return largest * float(np.sqrt(np.mean(((logits - means) / largest) ** 2)))
