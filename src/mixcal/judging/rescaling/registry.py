"""Every rescaler by name, and the one door that fits them on predictions."""

import difflib
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self, get_args, runtime_checkable

import numpy as np
from jaxtyping import Float

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.judging.apart import check_held_out
from mixcal.judging.rescaling.beta import Beta
from mixcal.judging.rescaling.dirichlet import Dirichlet
from mixcal.judging.rescaling.ensemble_temperature import EnsembleTemperature
from mixcal.judging.rescaling.fitting_data import logits_to_rescale, warn_of_impossible
from mixcal.judging.rescaling.histogram import HistogramBinning
from mixcal.judging.rescaling.isotonic import Isotonic
from mixcal.judging.rescaling.matrix import MatrixScaling
from mixcal.judging.rescaling.platt import Platt
from mixcal.judging.rescaling.procal import ProCal
from mixcal.judging.rescaling.procal_bins import ProCalBins
from mixcal.judging.rescaling.spline import Spline
from mixcal.judging.rescaling.temperature import Temperature
from mixcal.judging.rescaling.top_isotonic import TopIsotonic
from mixcal.judging.rescaling.vector import VectorScaling


@runtime_checkable
class Rescaler(Protocol):
    """What is fitted and answers with probabilities; there is no unfitted one."""

    @classmethod
    def fit(cls, logits: Any, labels: Any) -> Self:
        """From held-out logits and their labels."""
        ...

    def transform(self, logits: Any) -> Float[np.ndarray, "n k"]:
        """Probabilities for other logits of the same classes."""
        ...


RESCALERS: dict[str, Any] = {
    "temperature": Temperature,
    "ensemble-temperature": EnsembleTemperature,
    "vector": VectorScaling,
    "matrix": MatrixScaling,
    "dirichlet": Dirichlet,
    "platt": Platt,
    "beta": Beta,
    "isotonic": Isotonic,
    "top-isotonic": TopIsotonic,
    "histogram": HistogramBinning,
    "spline": Spline,
    "procal": ProCal,
    "procal-bins": ProCalBins,
}
NUMBER, WHOLE, WORD = "a number of 0 or more", "a whole number of 1 or more", "a word"
FITS: Mapping[str, Callable[[Any], bool]] = {
    NUMBER: lambda value: _is(value, int, float, np.number) and 0 <= value < math.inf,
    WHOLE: lambda value: _is(value, int, np.integer) and value >= 1,
    WORD: lambda value: isinstance(value, str),
}
# What some rescalers need beyond logits, and where predictions keep it.
EXTRA = ("features",)


def find_rescaler(name: str) -> Any:
    """The class of this name."""
    if name not in RESCALERS:
        raise BadInput(f"There is no rescaler {name!r}{_nearest(name, list(RESCALERS))}")
    return RESCALERS[name]


def name_of(rescaler: Rescaler) -> str:
    """The name of a fitted rescaler."""
    return next(name for name, kind in RESCALERS.items() if type(rescaler) is kind)


def knobs_of(name: str) -> dict[str, Any]:
    """The knobs of a rescaler's fit, with their defaults."""
    return {
        key: parameter.default
        for key, parameter in inspect.signature(find_rescaler(name).fit).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and key not in EXTRA
    }


def check_knobs(name: str, knobs: Mapping[str, Any]) -> None:
    """Refuse knobs that are not there, and values that are of another kind or out of reach."""
    known = inspect.signature(find_rescaler(name).fit).parameters
    there = list(knobs_of(name))
    for key, value in knobs.items():
        if key not in there:
            raise BadInput(f"{name} has no knob {key!r}{_nearest(key, there)}")
        kinds = get_args(known[key].annotation) or (known[key].annotation,)
        if value is None and type(None) in kinds:
            continue
        wanted = _wanted(kinds)
        if not FITS[wanted](value):
            raise BadInput(f"{name}: the knob {key} is {value!r}; it must be {wanted}.")


def _is(value: Any, *kinds: type) -> bool:
    """Of one of these kinds; a switch is no number."""
    return isinstance(value, kinds) and not isinstance(value, bool)


def _wanted(kinds: tuple[Any, ...]) -> str:
    """What a knob takes, in words; which words, its rescaler says."""
    if float in kinds:
        return NUMBER
    return WHOLE if int in kinds else WORD


def needs_features(name: str) -> bool:
    """Whether it reads the penultimate layer beside the logits."""
    return "features" in inspect.signature(find_rescaler(name).fit).parameters


def fit_rescaler(name: str, predictions: Predictions, **knobs: Any) -> Rescaler:
    """Fit a rescaler on predictions that are not those of the test data."""
    check_held_out(predictions, what="a rescaler", itself="itself")
    kind = find_rescaler(name)
    check_knobs(name, knobs)
    warn_of_impossible(predictions)
    fitted: Rescaler = kind.fit(
        logits_to_rescale(predictions),
        predictions.labels,
        **_extra(kind.fit, predictions, name),
        **knobs,
    )
    return fitted


def rescaled_probs(rescaler: Rescaler, predictions: Predictions) -> Float[np.ndarray, "n k"]:
    """The probabilities a fitted rescaler gives these predictions."""
    transform = rescaler.transform
    extra = _extra(transform, predictions, name_of(rescaler))
    return transform(logits_to_rescale(predictions), **extra)


def transformed(
    rescaler: Rescaler, logits: Float[np.ndarray, "n k"], *, features: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, "n k"]:
    """Probabilities for logits that come without labels; features go where they are wanted."""
    wanted = "features" in inspect.signature(rescaler.transform).parameters
    more: dict[str, Any] = {"features": features} if wanted else {}
    return rescaler.transform(logits, **more)


def rescaled(rescaler: Rescaler, predictions: Predictions) -> Predictions:
    """The same samples with rescaled probabilities; members and their scores are gone."""
    return Predictions(
        scores=rescaled_probs(rescaler, predictions),
        kind="probs",
        labels=predictions.labels,
        classes=predictions.classes,
        ids=predictions.ids,
        split=predictions.split,
        source=predictions.source,
        features=predictions.features,
        label_distributions=predictions.label_distributions,
        class_counts=predictions.class_counts,
        notes={**predictions.notes, "rescaler": name_of(rescaler)},
    )


def _extra(function: Any, predictions: Predictions, name: str) -> dict[str, Any]:
    """What the function wants beyond logits, out of the predictions."""
    if "features" not in inspect.signature(function).parameters:
        return {}
    if predictions.features is None:
        raise BadInput(
            f"{predictions.source or 'The predictions'}: {name} needs features, and there are "
            "none; add the array `features` (penultimate layer, one row a sample)."
        )
    return {"features": predictions.features}


def _nearest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return (
        f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(known) or 'none'}."
    )
