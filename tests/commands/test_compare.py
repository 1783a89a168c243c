"""`mixcal compare` in every form it writes, against the numbers of `mixcal judge`."""

import json
import warnings
from pathlib import Path

import pytest

from mixcal.cli import main
from tests.support.contenders import recipe_of, run_folder
from tests.support.judged import made_predictions

FORMS = {"--markdown": "| run |", "--latex": r"\begin{tabular}", "--csv": "run,n,metric,"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two algorithms with two seeds each; the second is less overconfident."""
    folder = tmp_path_factory.mktemp("runs")
    made = []
    for algorithm, temperature in (("fixmatch", 0.5), ("softmatch", 0.8)):
        for seed in (1, 2):
            parts = {
                split: made_predictions(
                    200, temperature=temperature + 0.02 * seed, noise=0.1 * seed, split=split
                )
                for split in ("test", "validation")
            }
            path = folder / f"{algorithm}-s{seed}"
            made.append(str(run_folder(path, recipe_of(algorithm, seed), **parts)))
    return made


@pytest.fixture(autouse=True)
def _own_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warnings.showwarning", warnings.showwarning)


def compared(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["compare", *words]) == 0
    return capsys.readouterr().out


def test_json_holds_the_numbers_of_judge(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(compared(capsys, *runs, "--json", "--metrics", "ece,ks"))
    assert (found["against"], found["split"], found["classes"]) == ("fixmatch-s1", "test", 5)
    assert [line["run"] for line in found["lines"]] == [Path(run).name for run in runs]
    assert main(["judge", runs[2], "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    line = found["lines"][2]["metrics"]
    assert {k: line["ece"][k] for k in ("value", "low", "high")} == judged["metrics"]["ece"]
    gap = line["ece"]["difference"]
    assert gap["value"] == pytest.approx(
        judged["metrics"]["ece"]["value"] - found["lines"][0]["metrics"]["ece"]["value"]
    )
    assert gap["differs"] == (gap["low"] > 0 or gap["high"] < 0)
    assert "difference" not in line["ks"]


@pytest.mark.parametrize("form", FORMS)
def test_tables_to_paste(runs: list[str], capsys: pytest.CaptureFixture[str], form: str) -> None:
    text = compared(capsys, *runs[::2], form)
    assert FORMS[form] in text
    assert "softmatch-s1" in text


@pytest.mark.parametrize("width", [80, 200])
def test_a_table_for_the_terminal(
    runs: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = compared(capsys, *runs[::2], "--against", "softmatch-s1")
    assert max(map(len, text.splitlines())) <= width
    assert "minus softmatch-s1" in text
    for word in ("error %", "ECE %", "NLL", "Brier", "fixmatch-s1"):
        assert word in text


def test_patterns_are_expanded_where_no_shell_does_it(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    pattern = str(Path(runs[0]).parent / "soft*")
    found = json.loads(compared(capsys, runs[0], pattern, "--json", "--metrics", "error"))
    assert [line["run"] for line in found["lines"]] == [
        "fixmatch-s1",
        "softmatch-s1",
        "softmatch-s2",
    ]


def test_groups_and_their_best(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--group-by", "method.algorithm.name", "--json", "--metrics", "ece")
    found = json.loads(compared(capsys, *runs, *words))
    assert [line["method.algorithm.name"] for line in found["lines"]] == ["fixmatch", "softmatch"]
    assert [line["runs"] for line in found["lines"]] == [2, 2]
    assert found["lines"][1]["metrics"]["ece"]["difference"]["how"] == "2 pairs"
    best = json.loads(
        compared(
            capsys, *runs, "--group-by", "method.backbone.name", *words[2:], "--best-by", "ece"
        )
    )
    # The group has both algorithms; the less overconfident one is chosen, with both its seeds.
    (line,) = best["lines"]
    assert line["runs"] == 2
    expected = [each["metrics"]["ece"]["value"] for each in found["lines"]]
    assert line["metrics"]["ece"]["value"] == pytest.approx(min(expected))
    assert "method.algorithm.name = softmatch, the best of 2 by validation ece" in str(
        best["notes"]
    )


def test_a_page_is_written_and_not_overwritten_unasked(
    runs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    words = (*runs, "--metrics", "error,ece", "--report", str(page))
    groups = ("--group-by", "method.algorithm.name", "--against", "softmatch", "--csv")
    assert main(["compare", *words, *groups]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("method.algorithm.name,runs,metric")
    assert str(page) in said.err
    text = page.read_text()
    # The runs are held against the first one of the group that the groups are held against.
    assert "3 runs against softmatch-s1" in text
    assert 'id="groups"' in text
    page.write_text("precious")
    assert main(["compare", *words]) == 2
    assert "exists already; choose another file, or say --overwrite" in capsys.readouterr().err
    assert page.read_text() == "precious"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--metrics", "eec"), "--metrics eec: unknown; choose from accuracy"),
        (("--metrics", ","), "--metrics is empty"),
        (("--level", "2"), "the level 2.0 is not between 0 and 1"),
        (("--bins", "0"), "0 bins were asked for"),
        (("--replicates", "3"), "--replicates 3: give at least 100"),
        (("--against", "x"), "--against x: none of the runs is called so"),
        (("--best-by", "ece"), "say which with --group-by"),
        (("--group-by", ","), "--group-by is empty"),
        (("--group-by", "seed"), "did you mean 'method.seed'?"),
        (("--group-by", "method.seed", "--mean-over", "x"), "--mean-over x: no run has this key"),
        (("--group-by", "method.seed", "--best-by", "e"), "--best-by e: unknown"),
        (("--group-by", "method.seed", "--against", "7"), "no group is called so; name one of 1"),
        (("--split", "unlabeled"), "has no predictions 'unlabeled'"),
    ],
)
def test_mistakes_are_one_sentence(
    runs: list[str],
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    message: str,
) -> None:
    assert main(["compare", *runs, *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("mixcal: ")
    assert message in said.err
    assert len(said.err.splitlines()) == 1
