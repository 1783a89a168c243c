"""Other people's networks as backbones.

`adapted` takes any `nn.Module` that turns inputs into logits by a last linear layer. The layer
becomes the head and the rest, which then ends in its inputs, the body; that both together answer
what the module answered is tried out on an example. `named` does it for the models of torchvision
and timm where these can be imported. Such a network can be mixed in at its input only.
"""

import copy
import difflib
import importlib
import re
from collections.abc import Sequence
from contextlib import suppress
from types import ModuleType

import torch
from torch import Tensor, nn

from mixcal.backbones.between import answered, entered
from mixcal.backbones.weights import with_weights
from mixcal.core.activations import Activations, Backbone, Between
from mixcal.core.errors import BadInput
from mixcal.core.quantities import ShareBelowOne


class Foreign(nn.Module):
    """A body that answers features, dropout, a linear head."""

    stages = ("input",)

    def __init__(
        self, body: nn.Module, head: nn.Linear, *, dropout: float = 0.0, from_gray: bool = False
    ) -> None:
        super().__init__()
        self.body = body
        self.dropout = nn.Dropout(dropout)
        self.head = head
        self.feature_width = head.in_features
        self.from_gray = from_gray

    def forward(self, inputs: Tensor, between: Between | None = None) -> Activations:
        hidden = entered(between, self.stages, inputs)
        if self.from_gray:
            hidden = hidden.expand(-1, 3, -1, -1)
        features = self.body(hidden)
        if not isinstance(features, Tensor):
            raise BadInput(
                f"{type(self.body).__name__} answers a {type(features).__name__} in training and "
                "not one tensor; wrap it in a module that picks the features."
            )
        return answered(self.head, self.dropout(features))


def adapted(
    module: nn.Module,
    *,
    classes: int | None = None,
    head: str = "",
    example: Tensor | None = None,
    dropout: float = 0.0,
) -> Foreign:
    """A copy of the module as a backbone.

    `head` names its last linear layer, by default the last one registered. Where that has another
    number of outputs than `classes`, a new one takes its place. `example` is a batch to try the
    parts on; without one, nothing is tried.
    """
    kind = type(module).__name__
    layers = linear_layers(module)
    if not any(layers):
        raise BadInput(f"{kind} has no linear layer inside that could be its head; append one.")
    if head and head not in layers:
        raise BadInput(f"{kind} has no linear layer {head!r}; it has {_listed(layers)}.")
    name = head or layers[-1]
    body = copy.deepcopy(module)
    linear = body.get_submodule(name)
    assert isinstance(linear, nn.Linear)
    body.set_submodule(name, nn.Identity())
    if example is not None:
        _try_out(module, body, linear, example, name)
    if classes is not None and linear.out_features != classes:
        linear = nn.Linear(linear.in_features, classes, bias=linear.bias is not None)
    return Foreign(body, linear, dropout=dropout).train(module.training)


def as_backbone(module: nn.Module, classes: int, *, channels: int = 3, size: int = 0) -> nn.Module:
    """The module if it is a backbone already, or else adapted; with no size it is not tried out."""
    if isinstance(module, Backbone) and "head" in dict(module.named_children()):
        return module
    example = _pattern(channels, size) if size else None
    return adapted(module, classes=classes, example=example)


def _pattern(channels: int, size: int) -> Tensor:
    """Two images to try a network on."""
    return torch.linspace(-1, 1, 2 * channels * size * size).view(2, channels, size, size)


@torch.no_grad()
def _try_out(
    module: nn.Module, body: nn.Module, head: nn.Linear, example: Tensor, layer: str
) -> None:
    """An error unless body and head together are the module."""
    was_training = module.training
    module.eval()
    body.eval()
    again: Tensor | None = None
    try:
        logits = module(example)
        with suppress(RuntimeError, TypeError, ValueError):
            again = head(body(example))
    except (RuntimeError, TypeError, ValueError, AssertionError) as error:
        raise BadInput(
            f"{type(module).__name__} does not take images of {tuple(example.shape[1:])} "
            f"(channels, height, width): {str(error).splitlines()[0]}"
        ) from None
    finally:
        module.train(was_training)
        body.train(was_training)
    fits = (
        isinstance(logits, Tensor)
        and again is not None
        and logits.ndim == 2
        and logits.shape == again.shape
        and torch.allclose(again, logits, rtol=1e-4, atol=1e-5)
    )
    if not fits:
        raise BadInput(
            f"{type(module).__name__}'s layer {layer!r} does not make the logits out of one vector "
            "an image; name the last linear layer as `head`, or write your own backbone."
        )


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[-4:]) or "none"


def named(
    classes: int,
    *,
    channels: int = 3,
    size: int = 224,
    model: str = "torchvision:resnet18",
    dropout: ShareBelowOne = 0.0,
    weights: str = "",
) -> Foreign:
    """A model of torchvision or timm by name, "torchvision:resnet18" or "timm:convnext_tiny".

    It starts from its library's initialization or from a weights file in the library's own names.
    Gray images are repeated to three channels.
    """
    library, _, name = model.partition(":")
    if library not in ("torchvision", "timm") or not name:
        raise BadInput(
            f"{model!r} names no model; write torchvision:NAME or timm:NAME, "
            "as in torchvision:resnet18."
        )
    if channels not in (1, 3):
        raise BadInput(f"{model} takes images of 1 or 3 channels, not {channels}.")
    module = _torchvision(name, classes) if library == "torchvision" else _timm(name, classes)
    network = adapted(module, example=_pattern(3, size), dropout=dropout)
    network.from_gray = channels == 1
    layer = re.escape(linear_layers(module)[-1])
    return with_weights(network, weights, ((r"^", "body."), (rf"^body\.{layer}\.", "head.")))


def linear_layers(module: nn.Module) -> list[str]:
    """The names of a module's linear layers, in order of registration."""
    return [name for name, layer in module.named_modules() if isinstance(layer, nn.Linear)]


def _torchvision(name: str, classes: int) -> nn.Module:
    library = _imported("torchvision").models
    if name not in library.list_models(module=library):
        raise BadInput(_unknown("torchvision", name, library.list_models(module=library)))
    return library.get_model(name, weights=None, num_classes=classes)


def _timm(name: str, classes: int) -> nn.Module:
    library = _imported("timm")
    if not library.is_model(name):
        raise BadInput(_unknown("timm", name, library.list_models()))
    return library.create_model(name, pretrained=False, num_classes=classes)


def _unknown(library: str, name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"it has {_listed(list(known))} …"
    return f"{library} has no model {name!r}; {remedy}"


def _imported(name: str) -> ModuleType:
    """The library, or one sentence; a broken one raises whatever it likes while it is imported."""
    try:
        return importlib.import_module(name)
    except Exception as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name == name
        if absent:
            reason = f"{name} is not installed"
        else:
            first = (str(error) or type(error).__name__).splitlines()[0]
            reason = f"{name} cannot be imported ({first})"
        raise BadInput(
            f"{reason}; install a {name} that fits torch {torch.__version__}, "
            "or name one of mixcal's own backbones."
        ) from None
