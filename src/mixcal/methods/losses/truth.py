"""What every loss has to know about its targets: integer labels, or distributions over classes.

A loss that reads the true class only, ℓ(z, y), becomes Σ_k q_k ℓ(z, k) for a distribution q; with
labels nothing but the true class is ever gathered.
"""

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from mixcal.core.errors import BadInput

Targets = Float[Tensor, "n k"] | Int[Tensor, " n"]


def widened(logits: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Float32 at least: half precision has too few digits for logarithms of probabilities."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def in_full(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Both as the losses compute with them: float32 at least, labels as int64; or a sentence why
    they do not fit together."""
    if logits.ndim != 2:
        raise BadInput(f"Logits have the shape {tuple(logits.shape)}; give samples x classes.")
    wide = widened(logits)
    if targets.ndim == 2 and targets.is_floating_point() and targets.shape == logits.shape:
        return wide, targets.to(wide.dtype)
    if targets.ndim == 1 and not targets.is_floating_point() and len(targets) == len(logits):
        _check_labels(targets, logits.shape[1])
        return wide, targets.long()
    raise BadInput(
        f"Targets of shape {tuple(targets.shape)} and type {targets.dtype} do not fit logits of "
        f"shape {tuple(logits.shape)}; give integer labels or float distributions over classes."
    )


def _check_labels(labels: Int[Tensor, " n"], classes: int) -> None:
    """Refuse a label that is no class; on a CPU alone, an accelerator would have to be waited for
    and stops at it by itself."""
    if not labels.is_cpu:
        return
    found = labels.numpy()
    wrong = found[(found < 0) | (found >= classes)]
    if len(wrong):
        raise BadInput(
            f"Label {wrong[0]} is none of the {classes} classes, 0 to {classes - 1}; leave out "
            "samples without a class."
        )


def stacked(rows: Tensor, logits: Tensor, *, name: str) -> None:
    """Refuse further rows that are not one or several whole sets beside the logits."""
    if rows.ndim != 3 or rows.shape[1:] != logits.shape or not len(rows):
        raise BadInput(
            f"{name} has the shape {tuple(rows.shape)} beside logits of the shape "
            f"{tuple(logits.shape)}; give sets x samples x classes."
        )


def one_for_each(rows: Tensor, logits: Tensor, *, name: str) -> None:
    """Refuse further rows of another number or width: one alone would stand in for all."""
    if rows.shape != logits.shape:
        raise BadInput(
            f"{name} has the shape {tuple(rows.shape)} beside logits of the shape "
            f"{tuple(logits.shape)}; give one further row for each."
        )


def at_truth(
    values: Float[Tensor, "n k"], targets: Targets
) -> Float[Tensor, "n k"] | Float[Tensor, " n"]:
    """The value of the true class, or those of all classes if the targets are distributions."""
    if targets.ndim == 2:
        return values
    return values.gather(1, targets[:, None]).squeeze(1)


def weighed(
    values: Float[Tensor, "n k"] | Float[Tensor, " n"], targets: Targets
) -> Float[Tensor, " n"]:
    """Σ_k q_k v_k, for what `at_truth` answered and whatever was made of it."""
    return (targets * values).sum(1) if targets.ndim == 2 else values


def apart(probs: Float[Tensor, "n k"], targets: Targets) -> Float[Tensor, "n k"]:
    """p − q."""
    if targets.ndim == 2:
        return probs - targets
    minus = probs.new_full((1, 1), -1.0).expand(len(probs), 1)
    return probs.scatter_add(1, targets[:, None], minus)


def correctness(logits: Float[Tensor, "n k"], targets: Targets) -> Float[Tensor, " n"]:
    """How right the predicted class is: q at the argmax, 0 or 1 for labels. A constant."""
    return _right(largest_at(logits), targets).to(logits.dtype)


def _right(predicted: Int[Tensor, " n"], targets: Targets) -> Shaped[Tensor, " n"]:
    if targets.ndim == 2:
        return targets.detach().gather(1, predicted[:, None]).squeeze(1)
    return predicted == targets


def largest_at(values: Float[Tensor, "n k"]) -> Int[Tensor, " n"]:
    """The class of each row's largest value, the first of equals."""
    if values.is_cpu and values.shape[1]:
        # Ten times as fast as torch's own.
        return torch.from_numpy(np.argmax(values.detach().numpy(), axis=1))
    return values.detach().argmax(1)


def confidences(logits: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    """The largest probability of each sample."""
    return largest(torch.log_softmax(logits, dim=1)).exp()


def answers(
    logits: Float[Tensor, "n k"], targets: Targets
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Confidences, with a gradient, and how right they are, by one look at the classes."""
    logs = torch.log_softmax(logits, dim=1)
    predicted = largest_at(logs)
    right = _right(predicted, targets).to(logits.dtype)
    return logs.gather(1, predicted[:, None]).squeeze(1).exp(), right


def largest(values: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    """The largest value of each row; the gradient goes to the first of equals."""
    return values.gather(1, largest_at(values)[:, None]).squeeze(1)
