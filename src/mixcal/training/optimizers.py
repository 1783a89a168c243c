"""Optimizers from recipe records."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from mixcal.training.options import OptimizerOptions


def make_optimizer(
    options: OptimizerOptions, network: nn.Module, head: nn.Module | None = None
) -> torch.optim.Optimizer:
    """An optimizer over the parameters that take gradients, in groups by decay and by rate."""
    head_ids = {id(parameter) for parameter in head.parameters()} if head is not None else set()
    groups: dict[tuple[bool, bool], list[Tensor]] = {}
    for parameter in network.parameters():
        if parameter.requires_grad:
            decays = options.decay == "all" or parameter.ndim > 1
            groups.setdefault((decays, id(parameter) in head_ids), []).append(parameter)
    records = [
        {
            "params": parameters,
            "weight_decay": options.weight_decay if decays else 0.0,
            "rate_factor": 1.0 if in_head or head is None else options.body_rate_factor,
        }
        for (decays, in_head), parameters in sorted(groups.items())
    ]
    rate = options.learning_rate
    match options.name:
        case "sgd":
            nesterov = options.nesterov and options.momentum > 0
            return torch.optim.SGD(
                records, lr=rate, momentum=options.momentum, nesterov=nesterov, foreach=True
            )
        case "adam":
            return torch.optim.Adam(
                records, lr=rate, betas=options.betas, eps=options.epsilon, foreach=True
            )
        case "adamw":
            return torch.optim.AdamW(
                records, lr=rate, betas=options.betas, eps=options.epsilon, foreach=True
            )
        case "adadelta":
            return torch.optim.Adadelta(
                records, lr=rate, rho=options.rho, eps=options.epsilon, foreach=True
            )


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """The step's learning rate, times each group's own factor."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group["rate_factor"]


@torch.no_grad()
def cap_norms(weights: Iterable[Tensor], most: float) -> None:
    """Scale each row of each weight down to norm `most`; a row holds what reaches one output."""
    for weight in weights:
        weight.renorm_(2, 0, most)
