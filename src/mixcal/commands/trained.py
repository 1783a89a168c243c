"""A run's network as it stands at its end, with its data and its rescaler."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from torch import nn

from mixcal.build import Prepared, make_network
from mixcal.exporting import Weights, rescaler_of, weights_of
from mixcal.predicting.device import pick_device
from mixcal.recipe import Recipe, read_recipe
from mixcal.run import prepared_again, without_weights
from mixcal.training.folder import RunFolder

if TYPE_CHECKING:
    from mixcal.judging.rescaling.registry import Rescaler


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """The parts; `rescaler` is called `rescaler_name`, "none" where there is none."""

    folder: RunFolder
    recipe: Recipe
    prepared: Prepared
    network: nn.Module
    weights: Weights
    rescaler_name: str = "none"
    rescaler: "Rescaler | None" = None


def trained_run(
    path: Path,
    *,
    weights: Weights | None = None,
    rescaler: str | None = "",
    device: str = "auto",
) -> Trained:
    """Read a run folder; `rescaler`: the run's own if empty, None for none."""
    folder = RunFolder.open(path)
    recipe = read_recipe(folder.recipe)
    chosen, tensors, _ = weights_of(folder, weights)
    name, fitted = "none", None
    if rescaler is not None:
        name, fitted = rescaler_of(folder, chosen, rescaler)
    prepared = prepared_again(folder, recipe)
    method = replace(recipe.method, backbone=without_weights(recipe.method.backbone))
    network = make_network(method, prepared)
    network.load_state_dict(tensors)
    network.to(pick_device(device, asked="--device"))
    if prepared.source.kind == "image":
        import torch

        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stub lacks it
    return Trained(
        folder=folder,
        recipe=recipe,
        prepared=prepared,
        network=network,
        weights=chosen,
        rescaler_name=name,
        rescaler=fitted,
    )
