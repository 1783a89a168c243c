"""`mixcal predict` and `mixcal export`: rows on the screen against the run's own predictions."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from mixcal.cli import main
from mixcal.core.predictions import Predictions
from tests.support.command import mixcal


@pytest.fixture(scope="module")
def run(picture_run: Path) -> Path:
    return picture_run


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_a_picture(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures = run.parent / "mine" / "test"
    assert main(["predict", str(run), str(pictures), "--rescaler", "none"]) == 0
    rows = rows_of(capsys.readouterr().out)
    theirs = Predictions.load(run / "predictions" / "test.npz")
    paths = [str(run.parent / "mine" / name) for name in theirs.ids]
    found = {row["path"]: row for row in rows}
    assert sorted(found) == sorted(paths)
    for path, probs in zip(paths, theirs.probs, strict=True):
        row = found[path]
        assert row["label"] == theirs.classes[probs.argmax()]
        assert float(row["confidence"]) == pytest.approx(probs.max(), abs=2e-6)
        assert [float(row["p(cat)"]), float(row["p(dog)"])] == pytest.approx(probs, abs=2e-6)
        assert row["error"] == ""


def test_a_bundle_answers_as_its_run(run: Path, tmp_path: Path) -> None:
    done = mixcal("export", run, "--into", tmp_path / "bundle", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"bundle: {tmp_path / 'bundle'}" in done.stdout
    again = mixcal("export", run, "--into", tmp_path / "bundle", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    pictures = run.parent / "mine" / "test"
    texts = [mixcal("predict", model, pictures).stdout for model in (run, tmp_path / "bundle")]
    assert texts[0] == texts[1]
    assert len(rows_of(texts[0])) == 6


def test_json_lines_into_a_file(run: Path, tmp_path: Path) -> None:
    picture = run.parent / "mine" / "test" / "dog" / "001.png"
    out = tmp_path / "answers.jsonl"
    words = ["predict", str(run), str(picture), "--out", str(out)]
    assert main(words) == 0
    (record,) = [json.loads(line) for line in out.read_text().splitlines()]
    assert set(record) == {"path", "label", "confidence", "probabilities"}
    assert record["confidence"] == max(record["probabilities"].values())
    assert sum(record["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    before = out.read_bytes()
    assert main(words) == 2
    assert out.read_bytes() == before
    assert main([*words, "--overwrite", "--format", "csv"]) == 0
    assert out.read_text().startswith("path,label,confidence,p(cat),p(dog),error\n")


def test_bad_pictures_are_reported_and_counted(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = run.parent / "mine" / "test" / "dog" / "001.png"
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "a.png").write_bytes(good.read_bytes())
    (tmp_path / "in" / "b.png").write_bytes(good.read_bytes()[:150])
    (tmp_path / "in" / "notes.txt").write_text("not looked at")
    words = ["predict", str(run), str(tmp_path / "in")]
    assert main(words) == 0
    shown = capsys.readouterr()
    rows = {Path(row["path"]).name: row for row in rows_of(shown.out)}
    assert set(rows) == {"a.png", "b.png"}
    assert rows["b.png"]["label"] == rows["b.png"]["p(cat)"] == ""
    assert rows["b.png"]["error"]
    assert "b.png cannot be read (" in shown.err
    assert "1 of 2 pictures cannot be read" in shown.err
    out = tmp_path / "out.csv"
    assert main([*words, "--strict", "--out", str(out)]) == 2
    assert "mend or remove it, or leave out --strict" in capsys.readouterr().err
    assert not out.exists()
    assert not list(tmp_path.glob(".out*"))
    # Nothing at all could be read.
    assert main(["predict", str(run), str(tmp_path / "in" / "b.png")]) == 2


@pytest.mark.parametrize(
    ("paths", "more", "message"),
    [
        (["nowhere"], [], "nowhere does not exist; name picture files or folders"),
        (["."], [], ". has no pictures"),
        (["x.png"], ["--out", "no/such/out.csv"], "no/such is no folder; make it"),
        (["x.png"], ["--out", "x.bogus"], "x.bogus: .bogus is no format; end the name with .csv"),
        (["x.png"], ["--device", "tpu"], "--device is 'tpu'"),
        (["x.png"], ["--rescaler", "magic"], "There is no rescaler 'magic'"),
    ],
)
def test_mistakes(
    run: Path,
    paths: list[str],
    more: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if paths == ["x.png"]:
        (tmp_path / "x.png").write_bytes(b"")
    assert main(["predict", str(run), *paths, *more]) == 2
    assert message in capsys.readouterr().err
    assert main(["predict", str(tmp_path), *paths, *more]) == 2


def test_probabilities_are_those_of_the_rescaler(run: Path, tmp_path: Path) -> None:
    from mixcal.judging.rescaling.saving import save_rescaler
    from mixcal.judging.rescaling.temperature import Temperature

    kept = run / "rescaling" / "temperature.json"
    before = kept.read_bytes() if kept.exists() else None
    save_rescaler(Temperature(temperature=100.0), kept)
    try:
        words = ["predict", str(run), str(run.parent / "mine" / "test")]
        assert main([*words, "--rescaler", "temperature", "--out", str(tmp_path / "o.csv")]) == 0
        rows = rows_of((tmp_path / "o.csv").read_text())
        # So high a temperature leaves next to nothing of the differences.
        assert np.allclose([float(row["confidence"]) for row in rows], 0.5, atol=0.02)
    finally:
        kept.unlink()
        if before is not None:
            kept.write_bytes(before)
