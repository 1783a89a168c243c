"""The parts of a recipe that the training room reads."""

from dataclasses import dataclass
from typing import Literal

from mixcal.core.quantities import Amount, Count, Positive, ShareBelowOne, Size


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerOptions:
    """How parameters move. `decay = "weights"` spares biases and norms, "all" spares nothing."""

    name: Literal["sgd", "adam", "adamw", "adadelta"] = "sgd"
    learning_rate: Size = 0.03
    momentum: ShareBelowOne = 0.9
    nesterov: bool = True
    betas: tuple[ShareBelowOne, ShareBelowOne] = (0.9, 0.999)
    # Adadelta's decay of its averages.
    rho: ShareBelowOne = 0.95
    epsilon: Positive = 1e-8
    weight_decay: Size = 5e-4
    decay: Literal["weights", "all"] = "weights"
    # Gradients are scaled down to this norm; 0: never.
    clip_norm: Size = 0.0
    # The learning rate of everything but the head, relative to the head's.
    body_rate_factor: Size = 1.0
    # Columns of the head's weight are kept within this norm after each step; 0: never.
    head_max_norm: Size = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleOptions:
    """How the learning rate moves.

    "cosine": rate · cos(cycles · π · step / steps), 7/16 of a cycle as FixMatch;
    "cosine-to-zero": rate · (1 + cos(π · step / steps)) / 2; "multistep": times `factor` at each
    milestone; "constant".
    """

    name: Literal["cosine", "cosine-to-zero", "multistep", "constant"] = "cosine"
    cycles: Size = 7 / 16
    milestones_epochs: tuple[Count, ...] = ()
    factor: Positive = 0.1
    # One factor for each milestone, where they differ.
    factors: tuple[Positive, ...] = ()
    warmup_steps: Amount = 0
    warmup_epochs: Size = 0.0
