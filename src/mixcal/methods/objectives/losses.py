"""The losses of a step, part by part, with the criterion that the calibrators chose for each."""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mixcal.core.outcome import Outcome
from mixcal.core.protocols import Criterion, Part
from mixcal.core.step import Pseudo, StepOutput
from mixcal.methods.losses.cross_entropy import cross_entropy

Criteria = Mapping[Part, Criterion]


def labeled_loss(step: StepOutput, criteria: Criteria) -> Float[Tensor, ""] | None:
    """The mean over the labeled rows; None where mixed rows took their place."""
    found = step.activations.get("labeled")
    if found is None:
        return None
    criterion = criteria.get("labeled", cross_entropy)
    loss = criterion(found.logits, step.batch.labeled.targets).mean()
    return loss if step.mixed is None else loss * step.mixed.labeled_weight


def unlabeled_loss(step: StepOutput, pseudo: Pseudo, criteria: Criteria) -> Float[Tensor, ""]:
    """The weighted mean over all unlabeled rows: those of weight zero count in the divisor."""
    criterion = criteria.get("unlabeled", cross_entropy)
    losses = criterion(step.activations["strong"].logits, pseudo.targets)
    return (losses * pseudo.weights).mean()


def mixed_loss(step: StepOutput, criteria: Criteria) -> Float[Tensor, ""] | None:
    """The mean over the mixed rows, each with its own weight; None if only terms read them."""
    if step.mixed is None or step.mixed.loss_weight is None:
        return None
    criterion = criteria.get("mixed", cross_entropy)
    logits = step.activations[step.mixed.rows.part].logits
    return (criterion(logits, step.mixed.rows.targets) * step.mixed.loss_weight).mean()


def named(losses: Mapping[str, Float[Tensor, ""] | None]) -> Outcome:
    """The losses that exist."""
    return Outcome({name: loss for name, loss in losses.items() if loss is not None})


def labeled_readings(step: StepOutput) -> Outcome:
    """Error and confidence on the labeled rows, where they went through the network unmixed."""
    found = step.activations.get("labeled")
    if found is None:
        return Outcome()
    with torch.no_grad():
        confidence, labels = found.logits.softmax(1).max(1)
        wrong = labels != step.batch.labeled.targets.argmax(1)
        return Outcome(
            readings={
                "labeled_error": wrong.float().mean(),
                "labeled_confidence": confidence.mean(),
            }
        )


def mixed_readings(step: StepOutput) -> Outcome:
    """What the mixer has to say."""
    return Outcome(readings=dict(step.mixed.readings)) if step.mixed is not None else Outcome()


def pseudo_readings(pseudo: Pseudo, hidden_labels: Int[Tensor, " n"]) -> Outcome:
    """How many pseudo-labels count, how sure they are and, where the truth is known, how wrong."""
    known = (hidden_labels >= 0).float()
    wrong = (pseudo.labels != hidden_labels).float() * known
    kept = pseudo.weights * known
    # 0 / 0 is NaN: no reading this step, and the log leaves it out.
    return Outcome(
        readings={
            "kept_fraction": pseudo.weights.mean(),
            "pseudo_confidence": pseudo.probs.amax(1).mean(),
            "impurity_all": wrong.sum() / known.sum(),
            "impurity_kept": (wrong * pseudo.weights).sum() / kept.sum(),
        }
    )
