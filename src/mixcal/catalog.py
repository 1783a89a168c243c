"""The catalog: everything a recipe can name, one line each.

The command line's choices, the contract tests and the pages of the documentation iterate over it.
A name with a colon, "package.module:factory", is imported as it stands: a person's own method.
"""

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from mixcal.core.errors import BadInput
from mixcal.recipe_check import checked, unknown_key

EntryKind = Literal["algorithm", "calibrator", "backbone", "source"]
Origin = Literal["paper", "ours"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A name, what it is, where its factory lives, and whose idea it is.

    `neutral`: knobs at which a calibrator changes nothing; the contract tests hold it to that.
    """

    name: str
    kind: EntryKind
    target: str
    origin: Origin = "paper"
    neutral: Mapping[str, Any] | None = None

    def factory(self) -> Callable[..., Any]:
        """The function that makes it, imported now."""
        module, _, attribute = self.target.partition(":")
        try:
            found = vars(importlib.import_module(module))[attribute]
        except (ImportError, KeyError) as error:
            raise BadInput(f"{self.target} cannot be imported ({error}).") from None
        if not callable(found):
            raise BadInput(f"{self.target} is no factory; name a function.")
        return found

    def knobs(self) -> dict[str, Any]:
        """The keyword knobs with their defaults."""
        return {
            parameter.name: parameter.default
            for parameter in self.signature().parameters.values()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.name not in GIVEN
        }

    def signature(self) -> inspect.Signature:
        """How the factory is called."""
        try:
            return inspect.signature(self.factory())
        except ValueError as error:
            raise BadInput(f"{self.target} is no factory ({error}); name a function.") from None

    def source(self) -> str:
        """The first paragraph of its module's docstring: paper, venue, year."""
        module = importlib.import_module(self.target.partition(":")[0])
        return " ".join((module.__doc__ or "").strip().split("\n\n")[0].split())


# Keywords that the data decide, not the recipe.
GIVEN = ("channels", "size", "words")


def _algorithm(name: str, where: str) -> Entry:
    return Entry(name, "algorithm", f"mixcal.methods.algorithms.{where}")


def _calibrator(
    name: str,
    where: str,
    *,
    neutral: Mapping[str, Any] | None = None,
    origin: Origin = "paper",
) -> Entry:
    return Entry(name, "calibrator", f"mixcal.methods.calibrators.{where}", origin, neutral)


def _backbone(name: str, where: str, origin: Origin = "paper") -> Entry:
    return Entry(name, "backbone", f"mixcal.backbones.{where}", origin)


def _source(name: str, where: str, origin: Origin = "paper") -> Entry:
    return Entry(name, "source", f"mixcal.data.sources.{where}", origin)


ENTRIES: tuple[Entry, ...] = (
    _algorithm("fixmatch", "fixmatch:fixmatch"),
    _algorithm("flexmatch", "flexmatch:flexmatch"),
    _algorithm("softmatch", "softmatch:softmatch"),
    _calibrator("calibratemix", "calibratemix:calibratemix", neutral={"warmup_fraction": 1.0}),
    _calibrator("random-mixup", "random_mixup:random_mixup", neutral={"warmup_fraction": 1.0}),
    _calibrator("margins", "margin_memory:margin_memory", neutral={}, origin="ours"),
    _calibrator("label-smoothing", "label_smoothing:label_smoothing", neutral={"epsilon": 0.0}),
    _calibrator("mixup", "mixup:mixup", neutral={"alpha": 0.0}),
    _calibrator(
        "feature-only-mixup", "feature_only_mixup:feature_only_mixup", neutral={"alpha": 0.0}
    ),
    _calibrator("manifold-mixup", "manifold_mixup:manifold_mixup", neutral={"alpha": 0.0}),
    _calibrator("cutmix", "cutmix:cutmix", neutral={"probability": 0.0}),
    _calibrator("augmix", "augmix:augmix", neutral={"weight": 0.0}),
    _calibrator("rankmixup", "rankmixup:rankmixup", neutral={"weight": 0.0}),
    _calibrator("regmixup", "regmixup:regmixup", neutral={"eta": 0.0}),
    _calibrator("remix", "remix:remix", neutral={"alpha": 0.0}),
    _calibrator("unimix", "unimix:unimix", neutral={"alpha": 0.0}),
    _calibrator("csm", "csm:csm", neutral={"weight": 0.0}),
    _calibrator("bayias", "bayias:bayias", neutral={"strength": 0.0}),
    _calibrator("entropy-penalty", "entropy_penalty:entropy_penalty", neutral={"beta": 0.0}),
    _calibrator("mbls", "mbls:mbls", neutral={"alpha": 0.0}),
    _calibrator("cals", "cals:cals", neutral={"margin": 1e9}),
    _calibrator("focal", "focal:focal", neutral={"gamma": 0.0}),
    _calibrator("dual-focal", "dual_focal:dual_focal", neutral={"gamma": 0.0}),
    _calibrator("inverse-focal", "inverse_focal:inverse_focal", neutral={"gamma": 0.0}),
    _calibrator("fcl", "fcl:fcl", neutral={"gamma": 0.0, "weight": 0.0}),
    _calibrator("brier", "brier:brier"),
    _calibrator("mmce", "mmce:mmce", neutral={"weight": 0.0}),
    _calibrator("crl", "crl:crl", neutral={"weight": 0.0}),
    _calibrator("cpc", "cpc:cpc", neutral={"discrimination_weight": 0.0, "exclusion_weight": 0.0}),
    _calibrator("arc", "arc:arc", neutral={"weight": 0.0}),
    _backbone("small", "wide_resnet:small", "ours"),
    _backbone("wrn", "wide_resnet:wide_resnet"),
    _backbone("wrn-37-2", "wide_resnet:wide_resnet_37_2"),
    _backbone("resnet", "resnet:resnet"),
    _backbone("resnet-32", "resnet:resnet_32"),
    _backbone("resnext-101", "resnet:resnext_101"),
    _backbone("preact-resnet", "preact_resnet:preact_resnet"),
    _backbone("vgg-16", "vgg:vgg_16"),
    _backbone("densenet-121", "densenet:densenet_121"),
    _backbone("mobilenet-v2", "mobilenet:mobilenet_v2"),
    _backbone("swin-v2", "swin:swin_v2"),
    _backbone("sentence-cnn", "sentence_cnn:sentence_cnn"),
    _backbone("foreign", "foreign:named", "ours"),
    _source("digits", "digits:read_digits"),
    _source("mnist", "mnist:read_mnist"),
    _source("fashion-mnist", "mnist:read_fashion_mnist"),
    _source("cifar10", "cifar:read_cifar10"),
    _source("cifar100", "cifar:read_cifar100"),
    _source("svhn", "svhn:read_svhn"),
    _source("stl10", "stl10:read_stl10"),
    _source("tiny-imagenet", "tiny_imagenet:read_tiny_imagenet"),
    _source("imagenet", "imagenet:read_imagenet"),
    _source("webvision", "webvision:read_webvision"),
    _source("cub-200-2011", "cub:read_cub"),
    _source("stanford-cars", "stanford_cars:read_cars"),
    _source("mr", "movie_reviews:read_mr"),
    _source("trec", "trec:read_trec"),
    _source("imdb", "imdb:read_imdb"),
    _source("folder", "folder:read_folder", "ours"),
    _source("manifest", "manifest:read_manifest", "ours"),
    _source("npz", "npz:read_npz", "ours"),
)

# Backbones whose sizes may be part of the name: wrn-28-2, resnet-50, torchvision:resnet50.
SIZED = re.compile(r"(?P<family>wrn|resnet|preact-resnet)-(?P<depth>\d+)(-(?P<width>\d+))?")
LIBRARIES = ("torchvision:", "timm:")


def find(name: str, kind: EntryKind) -> Entry:
    """The entry of this name, or of an import path."""
    if ":" in name:
        return Entry(name, kind, name, "ours")
    known = {entry.name: entry for entry in ENTRIES if entry.kind == kind}
    if name in known:
        return known[name]
    raise unknown_key(name, list(known), where=f"the {kind}s")


def spelled_out(name: str, knobs: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """A backbone's entry and knobs, where its name says knobs too."""
    if name.startswith(LIBRARIES):
        return "foreign", {"model": name, **knobs}
    match = SIZED.fullmatch(name)
    if match is None or any(entry.name == name for entry in ENTRIES):
        return name, knobs
    sizes = {key: int(match[key]) for key in ("depth", "width") if match[key]}
    return match["family"], {**sizes, **knobs}


def make(kind: EntryKind, name: str, knobs: Mapping[str, Any], *given: Any, **more: Any) -> Any:
    """Call an entry's factory with what the data decide and the recipe's knobs, checked."""
    entry, values = settled(kind, name, knobs, **more)
    try:
        entry.signature().bind(*given, **values)
    except TypeError as error:
        raise BadInput(
            f"{kind} {name!r} cannot be called as a factory of one is ({error}); see "
            "docs/adding-a-method.md."
        ) from None
    return entry.factory()(*given, **values)


def settled(
    kind: EntryKind, name: str, knobs: Mapping[str, Any], **more: Any
) -> tuple[Entry, dict[str, Any]]:
    """The entry of a name and the keywords its factory is called with."""
    if kind == "backbone":
        name, knobs = spelled_out(name, knobs)
    entry = find(name, kind)
    factory = entry.factory()
    known = entry.knobs()
    hints = get_type_hints(factory, include_extras=True)
    values = {}
    for key, value in knobs.items():
        if key not in known:
            raise unknown_key(key, list(known), where=f"{kind} {name!r}")
        values[key] = checked(hints.get(key, Any), value, where=f"{kind} {name!r}", path=key)
    accepted = entry.signature().parameters
    wanted = {key: value for key, value in more.items() if key in accepted}
    return entry, {**wanted, **values}
