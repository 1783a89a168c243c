"""mixcal: image classifiers whose confidence can be trusted, from few labels."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mixcal.estimator import CalibratedClassifier
    from mixcal.serving.predictor import Predictor

__version__ = "0.1.0"
__all__ = ["CalibratedClassifier", "Predictor", "__version__"]


def __getattr__(name: str) -> Any:
    """The names of `__all__`, imported when asked for: `import mixcal` loads neither torch nor
    scikit-learn."""
    if name == "CalibratedClassifier":
        from mixcal.estimator import CalibratedClassifier

        return CalibratedClassifier
    if name == "Predictor":
        from mixcal.serving.predictor import Predictor

        return Predictor
    raise AttributeError(f"module 'mixcal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
