"""The report at the end of training, and of a run whose data are gone."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from mixcal.build import prepare
from mixcal.core.predictions import Predictions
from mixcal.judging.comparison.contenders import Choice, read_contenders
from mixcal.judging.comparison.pairing import paired
from mixcal.recipe import read_recipe
from mixcal.reporting import look_of_any, looks_into, looks_of_run, write_report
from tests.support.command import QUICK, mixcal


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    root = tmp_path_factory.mktemp("trained")
    margins = ("--set", 'method.calibrators=[{name="margins"}]')
    done = mixcal("train", *QUICK, *margins, "--into", "run", cwd=root)
    assert done.returncode == 0, done.stderr
    return root / "run", done.stdout


def test_training_ends_with_a_report_and_says_where(trained: tuple[Path, str]) -> None:
    run, said = trained
    assert "run/report.html" in said
    page = (run / "report.html").read_text()
    sheets = ("Most confident mistakes", "Hardest labeled samples", "wrong pseudo-labels")
    for part in (*sheets, "How training went"):
        assert part in page
    assert 'name = "softmatch"' in page.replace("&#34;", '"')
    assert len(re.findall(r'<img src="data:image/png', page)) == 24 * 5


def test_pictures_are_those_of_the_samples(trained: tuple[Path, str]) -> None:
    run, _ = trained
    prepared = prepare(read_recipe(run / "recipe.toml"))
    look = looks_into(prepared)["test"]
    predictions = Predictions.load(run / "predictions" / "test.npz")
    assert prepared.source.test is not None
    for position in (0, 5, 17):
        (where,) = (prepared.source.test.ids == predictions.ids[position]).nonzero()
        (seen,) = look(np.array([position]))
        assert (seen == prepared.source.test.take(where)[0].numpy()).all()


def test_a_comparison_finds_the_pictures_in_whatever_order(
    trained: tuple[Path, str], tmp_path: Path
) -> None:
    run, _ = trained
    whole = Predictions.load(run / "predictions" / "test.npz")
    turned = whole.take(np.arange(len(whole))[::-1])
    turned.save(tmp_path / "turned.npz")
    contenders = read_contenders([tmp_path / "turned.npz", run], Choice())
    look = look_of_any(paired(contenders, contenders[0]))
    assert look is not None
    own = looks_of_run(run)["test"]
    np.testing.assert_array_equal(
        look(np.array([0, 3])), own(np.array([len(whole) - 1, len(whole) - 4]))
    )
    assert look_of_any(contenders[:1]) is None, "a file from elsewhere has no data"


def test_without_its_data_a_run_still_has_a_report(
    trained: tuple[Path, str], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained[0], run)
    recipe = run / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('source = "digits"', 'source = "folder"'))
    assert looks_of_run(run) == {}
    page = write_report(run, into=tmp_path / "page.html").read_text()
    assert "<img" not in page
    assert "Most confident mistakes" in page
