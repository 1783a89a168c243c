"""What is read from run folders and files against what was written there."""

from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.judging.comparison.contenders import (
    Choice,
    read_contenders,
    told_apart,
    validation_value,
)
from mixcal.judging.samples import Samples
from tests.support.contenders import recipe_of, run_folder
from tests.support.judged import made_predictions

TEST, RAW, BEST = (made_predictions(60, temperature=t) for t in (0.5, 0.7, 0.9))
VALIDATION = made_predictions(30, seed=4, split="validation")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    first = run_folder(
        folder / "first",
        recipe_of("fixmatch", threshold=0.9),
        test=TEST,
        test_raw=RAW,
        test_best=BEST,
        validation=VALIDATION,
    )
    return first, run_folder(folder / "second-0.95", recipe_of("softmatch", 3), test_raw=RAW)


def scores(contender) -> np.ndarray:
    return contender.judged.predictions.scores


def test_folders_and_files_mix(runs: tuple[Path, Path], tmp_path: Path) -> None:
    TEST.save(tmp_path / "elsewhere.npz")
    paths = [*runs, tmp_path / "elsewhere.npz", runs[0] / "predictions" / "test-best.npz"]
    found = read_contenders(paths, Choice())
    assert [one.name for one in found] == ["first", "second-0.95", "elsewhere", "test-best"]
    # A run that did not average has raw weights only.
    for one, expected in zip(found, (TEST, RAW, TEST, BEST), strict=True):
        np.testing.assert_array_equal(scores(one), expected.scores)
    assert found[0].recipe["method"]["algorithm"] == {"name": "fixmatch", "threshold": 0.9}
    assert found[2].recipe == {}
    assert found[3].recipe == found[0].recipe, "a file within a run's folder belongs to the run"


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice(weights="averaged"), TEST),
        (Choice(weights="raw"), RAW),
        (Choice(weights="best"), BEST),
        (Choice(split="validation"), VALIDATION),
    ],
)
def test_a_choice_names_a_file(runs: tuple[Path, Path], choice: Choice, expected) -> None:
    other = runs[0] / "predictions" / "test.npz"
    found = read_contenders([runs[0], other], choice)
    np.testing.assert_array_equal(scores(found[0]), expected.scores)


def test_validation_numbers_are_those_of_the_validation_predictions(
    runs: tuple[Path, Path],
) -> None:
    first, second = read_contenders(runs, Choice())
    error = 1 - Samples.of(VALIDATION).right.mean()
    assert validation_value(first, "error", Choice()) == pytest.approx(error)
    # Rescalers are fitted there; what is chosen is the network.
    assert validation_value(first, "error", Choice(rescaler="temperature")) == pytest.approx(error)
    with pytest.raises(BadInput, match="has no predictions 'validation'"):
        validation_value(second, "error", Choice())


def test_names_are_the_shortest_that_differ() -> None:
    paths = [Path("/x/a/s1"), Path("/x/b/s1"), Path("/x/b/s2.npz")]
    assert told_apart(paths) == ["a/s1", "b/s1", "b/s2"]


@pytest.mark.parametrize(
    ("paths", "choice", "message"),
    [
        (["first"], Choice(), "There is one run only"),
        (["first", "first/"], Choice(), "is given twice"),
        (["first", "nowhere"], Choice(), "nowhere does not exist"),
        (["first", "."], Choice(), "holds no predictions"),
        (["first", "second-0.95"], Choice(split="validation"), "has no predictions 'validation'"),
        (["first", "second-0.95"], Choice(rescaler="beta"), "no predictions 'test-beta'"),
    ],
)
def test_what_cannot_be_read(
    runs: tuple[Path, Path], paths: list[str], choice: Choice, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        read_contenders([runs[0].parent / path for path in paths], choice)
