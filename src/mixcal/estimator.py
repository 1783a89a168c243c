"""`CalibratedClassifier`: training, rescaling, prediction sets behind scikit-learn's interface."""

import numbers
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import assert_all_finite, check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mixcal.conclusion import conclude
from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.data.given import as_bytes, as_pictures, data_range, numbered, without_label
from mixcal.data.sources.arrays import source_from_arrays
from mixcal.exporting import bundle_of
from mixcal.judging.prediction_sets import fit_sets
from mixcal.predicting.device import pick_device
from mixcal.recipe_short import Named, Words
from mixcal.reporting import write_report
from mixcal.run import start, train_to_end
from mixcal.serving.predictor import Predictor
from mixcal.training.interruption import Interrupted

WHERE = "CalibratedClassifier"
STEPS = 1500


class CalibratedClassifier(ClassifierMixin, BaseEstimator):
    """An image classifier from few labels whose probabilities can be trusted.

    `host`: how unlabeled images are learned from ("softmatch", "flexmatch", "fixmatch"), None for
    supervised training. `calibrator`: what acts during training; a name, a mapping of `name` and
    knobs, several of either, or None. `rescaler`: what is fitted on held-out labels afterwards, or
    None. `settings`: keys of a recipe, as in `{"method.optimizer.learning_rate": 0.01}`.
    docs/estimator.md says what images and labels may be.
    """

    def __init__(
        self,
        host: Named | None = "softmatch",
        calibrator: Named | Sequence[Named] | None = "calibratemix",
        rescaler: str | None = "temperature",
        *,
        steps: int | None = STEPS,
        epochs: int | None = None,
        batch: int = 32,
        backbone: Named = "small",
        flips: bool = False,
        validation_fraction: float = 0.2,
        image_shape: Sequence[int] | str | None = None,
        value_range: Sequence[float] | str | None = None,
        unlabeled: Any = -1,
        settings: Mapping[str, Any] | None = None,
        device: str = "auto",
        precision: str = "float32",
        random_state: int | np.random.RandomState | None = 0,
        folder: str | Path | None = None,
    ) -> None:
        self.host = host
        self.calibrator = calibrator
        self.rescaler = rescaler
        self.steps = steps
        self.epochs = epochs
        self.batch = batch
        self.backbone = backbone
        self.flips = flips
        self.validation_fraction = validation_fraction
        self.image_shape = image_shape
        self.value_range = value_range
        self.unlabeled = unlabeled
        self.settings = settings
        self.device = device
        self.precision = precision
        self.random_state = random_state
        self.folder = folder

    def fit(self, X: Any, y: Any) -> Self:
        """Train on images and their labels; rows whose label is `unlabeled` are only looked at."""
        with _as_value_errors():
            rows = self._rows(X, reset=True)
            labels = column_or_1d(y, warn=True)
            check_consistent_length(rows, labels)
            self.value_range_ = self._range(rows)
            images = self._pictures(rows)
            self.image_shape_ = images.shape[1:]
            missing = without_label(labels, self.unlabeled)
            if labels.dtype.kind == "f":
                assert_all_finite(labels, input_name="y")
            check_classification_targets(labels[~missing])
            self.classes_, codes = numbered(labels, missing)
            self._train(images, codes)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """A probability for every class, in the order of `classes_`."""
        images = self._seen(X)
        return _summing_to_one(self.predictor_(images))

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each image."""
        best = self.predict_proba(X).argmax(1)
        return self.classes_[best]

    def predict_set(self, X: Any, alpha: float = 0.1, *, score: str = "lac") -> np.ndarray:
        """For every image the classes, as a row of true and false in the order of `classes_`, that
        hold the true one with probability 1 − `alpha`; fitted on the labels held out.

        `score` is one of "lac", "aps" and "raps". Sets are made before rescaling, whose fit has
        seen the labels that the promise rests on.
        """
        images = self._seen(X)
        with _as_value_errors():
            if not 0 < alpha < 1:
                raise BadInput(f"alpha is {alpha}; it must lie between 0 and 1.")
            if self.validation_ is None:
                raise BadInput(
                    "No labels were held out, so sets have nothing to be fitted on; fit with "
                    "validation_fraction=0.2."
                )
            made = fit_sets(self.validation_, score=score, coverage=1 - alpha)
            if np.isinf(made.threshold):
                warnings.warn(
                    f"{made.n} held-out labels cannot promise {made.coverage:g}, so every set "
                    "holds every class; give more labels or a larger alpha.",
                    stacklevel=2,
                )
            return made.sets(_summing_to_one(replace(self.predictor_, rescaler=None)(images)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy on the rows that have a label."""
        labels = column_or_1d(y)
        known = ~without_label(labels, self.unlabeled)
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        predicted = self.predict(np.asarray(X)[known])
        return float(accuracy_score(labels[known], predicted, sample_weight=weights))

    def export(self, path: str | Path) -> None:
        """Write a bundle, as `mixcal export` does: it works without the training code."""
        check_is_fitted(self)
        self.bundle_.save(Path(path))

    def _train(self, images: np.ndarray, codes: np.ndarray) -> None:
        """One run in a folder, of which only what predicts is kept unless the folder was named."""
        labeled = int((codes >= 0).sum())
        recipe = self._words().recipe(
            labeled=labeled, unlabeled=len(codes) - labeled, side=min(images.shape[1:3])
        )
        source = source_from_arrays(
            images,
            codes,
            classes=[str(name) for name in self.classes_],
            flips=self.flips,
        )
        with self._place() as place:
            run = start(recipe, place, source=source)
            try:
                train_to_end(run, progress=_Quiet())
            except Interrupted:
                raise KeyboardInterrupt from None
            self.judgement_ = conclude(run.recipe, run.prepared, run.machine, run.folder)
            self.bundle_ = bundle_of(place)
            weights = "averaged" if run.machine.average is not None else "raw"
            held_out = run.folder.predictions("validation", weights)
            self.validation_ = Predictions.load(held_out) if held_out.is_file() else None
            if self.folder is not None and self.judgement_["judged"]:
                write_report(place, run.prepared)
        device = str(pick_device(self.device, asked="device"))
        # Its code has built the network already, whosever it is.
        trusted = [self.bundle_.factory.split(".")[0].partition(":")[0]]
        self.predictor_ = Predictor.of(self.bundle_, device=device, trusted=trusted)

    def _words(self) -> Words:
        """The parameters that make the recipe."""
        if self.epochs is not None and self.steps not in (None, STEPS):
            raise BadInput(
                f"{WHERE}: steps={self.steps} and epochs={self.epochs} contradict each other; give "
                "one of them."
            )
        return Words(
            where=WHERE,
            host=self.host,
            calibrator=self.calibrator,
            rescaler=self.rescaler,
            steps=self.steps,
            epochs=self.epochs,
            batch=self.batch,
            backbone=self.backbone,
            validation_fraction=self.validation_fraction,
            settings=self.settings or {},
            device=self.device,
            precision=self.precision,
            seed=self._seed(),
        )

    def _seed(self) -> int:
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @contextmanager
    def _place(self) -> Iterator[Path]:
        """The folder of the run: the one named, or one that is gone afterwards."""
        if self.folder is not None:
            yield Path(self.folder).expanduser().resolve()
            return
        with tempfile.TemporaryDirectory(prefix="mixcal-") as name:
            yield Path(name)

    def _range(self, rows: np.ndarray) -> tuple[float, float] | None:
        if self.value_range is None:
            return None
        if isinstance(self.value_range, str):
            if self.value_range != "data":
                raise BadInput(f'value_range is {self.value_range!r}; "data" or (low, high).')
            return data_range(rows)
        low, high = self.value_range
        return float(low), float(high)

    def _pictures(self, rows: np.ndarray) -> np.ndarray:
        return as_bytes(as_pictures(rows, self.image_shape), self.value_range_)

    def _rows(self, X: Any, *, reset: bool) -> np.ndarray:
        """Finite numbers, as scikit-learn checks them: rows, or images of three or four axes."""
        images = np.ndim(X) > 2
        rows = validate_data(
            self, X, reset=reset, ensure_2d=not images, allow_nd=images, dtype="numeric"
        )
        if reset and images:
            self.n_features_in_ = int(np.prod(rows.shape[1:]))
        return rows

    def _seen(self, X: Any) -> np.ndarray:
        """Images as the network was trained on."""
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        with _as_value_errors():
            images = self._pictures(rows)
            if images.shape[1:] != self.image_shape_:
                raise BadInput(
                    f"The images have the shape {images.shape[1:]}; {WHERE} was fitted on "
                    f"{self.image_shape_}."
                )
        return images

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


class _Quiet:
    """Nobody watches."""

    def show(self, step: int, means: dict[str, float | None], images_per_second: float) -> None:
        pass


@contextmanager
def _as_value_errors() -> Iterator[None]:
    """Wrong input is a ValueError here, as scikit-learn's users and tools expect."""
    try:
        yield
    except BadInput as error:
        raise ValueError(str(error)) from None


def _summing_to_one(probs: np.ndarray) -> np.ndarray:
    """In double precision, so that sums are one to what NumPy's tests expect."""
    wide = probs.astype(np.float64)
    return wide / wide.sum(1, keepdims=True)
