"""What the torchmetrics adapters share: states that add, and batches that are checked.

Without torchmetrics, importing this says what to install.
"""

import math

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from mixcal.core.errors import BadInput
from mixcal.core.predictions import SUM_TOLERANCE, Kind, check_labels, check_scores
from mixcal.judging.metrics.intervals import Estimate
from mixcal.judging.samples import Samples

try:
    from torchmetrics import Metric as Metric
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "torchmetrics is not installed; run pip install torchmetrics, or take the functions of "
        "mixcal.judging, which need nothing."
    ) from None

# What is known of no samples.
UNKNOWN = Estimate(math.nan, math.nan, math.nan)
# So many rows of logits do not all sum to one by chance.
ENOUGH = 8


def add_sum(metric: Metric, name: str, *shape: int, whole: bool = False) -> None:
    """A state that adds over updates and processes: int64 if `whole`, else float64."""
    zeros = torch.zeros(shape, dtype=torch.int64 if whole else torch.float64)
    metric.add_state(name, default=zeros, dist_reduce_fx="sum")


def add_list(metric: Metric, *names: str) -> None:
    """States that keep every sample."""
    for name in names:
        metric.add_state(name, default=[], dist_reduce_fx="cat")


def add_kind(metric: Metric, kind: Kind) -> None:
    """What the scores are said to be, and how many rows could be probabilities or could not."""
    metric.kind = kind
    add_sum(metric, "rows_by_kind", 2, whole=True)


def checked(
    metric: Metric, scores: Float[Tensor, "n k"], labels: Int[Tensor, " n"]
) -> tuple[Float[np.ndarray, "n k"], Int[np.ndarray, " n"]]:
    """A batch as arrays, refused where it is no predictions."""
    array, own = scores_of(metric, scores), array_of(labels)
    check_labels(own, *array.shape, where="the batch")
    return array, own


def scores_of(metric: Metric, scores: Float[Tensor, "n k"]) -> Float[np.ndarray, "n k"]:
    """The scores of a batch as an array, refused where they are not what they are said to be."""
    if scores.ndim != 2:
        raise BadInput(
            f"the batch: scores have shape {tuple(scores.shape)}; give samples by classes, also "
            "where there are two."
        )
    half = scores.dtype in (torch.float16, torch.bfloat16)
    array = array_of(scores.float() if half else scores)
    check_scores(array, metric.kind, where="the batch", part=True)
    near_one = np.abs(array.sum(1, dtype=np.float64) - 1) <= SUM_TOLERANCE
    like_probs = int((near_one & (array.min(1) >= 0)).sum())
    metric.rows_by_kind += torch.tensor([like_probs, len(array) - like_probs]).to(metric.device)
    return array


def samples_of(metric: Metric, scores: Float[Tensor, "n k"], labels: Int[Tensor, " n"]) -> Samples:
    """A batch as samples."""
    array, own = checked(metric, scores, labels)
    return Samples.of_scores(array, own, metric.kind)


def check_kind(metric: Metric) -> None:
    """Refuse logits of which every row so far was non-negative and summed to one."""
    like_probs, others = metric.rows_by_kind.tolist()
    if metric.kind == "logits" and not others and like_probs >= ENOUGH:
        raise BadInput(
            f"all {like_probs} rows of the logits are non-negative and sum to one; if these are "
            'probabilities, say kind="probs".'
        )


def unseen(metric: Metric) -> bool:
    """Whether no sample has come, of which every number is NaN; torchmetrics warns of it."""
    return not int(metric.rows_by_kind.sum())


def array_of(tensor: Shaped[Tensor, "*shape"]) -> Shaped[np.ndarray, "*shape"]:
    """On the CPU, without a gradient."""
    return tensor.detach().cpu().numpy()


def joined(parts: list[Tensor] | Tensor) -> Shaped[np.ndarray, " ..."]:
    """All samples of a list state, before or after torchmetrics has joined it."""
    if isinstance(parts, Tensor):
        return array_of(parts)
    return array_of(torch.cat(parts)) if parts else np.empty(0)


def tensor_of(array: Shaped[np.ndarray, "*shape"], metric: Metric) -> Shaped[Tensor, "*shape"]:
    """Beside the metric's states."""
    return torch.from_numpy(array).to(metric.device)


def scalar_of(value: float, metric: Metric) -> Float[Tensor, ""]:
    """What `compute` answers."""
    return torch.tensor(value, dtype=torch.float64, device=metric.device)
