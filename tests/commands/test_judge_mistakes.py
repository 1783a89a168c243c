"""`mixcal judge` on wrong words and strange numbers: one sentence each, and strict JSON."""

import json
from pathlib import Path

import numpy as np
import pytest

from mixcal.cli import main
from mixcal.core.predictions import Predictions
from mixcal.judging.summary import summarized
from tests.commands.test_judge import drawn


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.npz",), "does not exist"),
        (("p.npz", "--probs"), "holds no probs but logits; leave --probs out"),
        (("p.npz", "--bins", "0"), "0 bins were asked for"),
        (("p.npz", "--level", "95"), "the level 95.0 is not between 0 and 1"),
        (("p.npz", "--level", "0.9999999999999999"), "is next to certainty"),
        (("p.npz", "--like", "torchmetric"), "did you mean 'torchmetrics'"),
        (("p.npz", "--top-k", "9"), "top-9 was asked for with 4 classes"),
        (("p.npz", "--cuts", "x"), "give two numbers of classes"),
        (("p.npz", "--cuts", "1,2"), "no `class_counts` say which classes are frequent"),
        (("p.npz", "--hardest", "-3"), "--hardest -3: give the number"),
        (("p.npz", "--humans", "few.npz"), "ids reach from 0 to"),
        (("p.npz", "--humans", "array.npy"), "array.npy is no .npz file"),
        (("array.npy",), "array.npy is no .npz file"),
        (("objects.npz",), "objects.npz holds Python objects, which mixcal does not unpickle"),
        (("p.npz", "--humans", "p.npz"), "neither `counts`"),
        (("p.npz", "--ood", "wide.npz"), "has 6 classes"),
        (("folder",), "holds no predictions"),
        (("p.csv",), "no column is called logit_… or prob_…"),
        (("p.csv", "--probs"), "if these are logits, say logits"),
        (("text.csv", "--probs"), "column 'b' is not all numbers"),
        (("unlabeled.csv", "--probs"), "has no column `label`"),
        (("names.csv",), "label 'cow' of row 1 is none of the classes"),
        (("both.csv",), "holds logits and probs"),
        (("splits.csv",), "holds the splits test, validation"),
        (("p.parquet",), "is no Parquet file"),
    ],
)
def test_mistakes_are_named(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    logits, labels = drawn()
    np.savez("p.npz", logits=logits, labels=labels)
    np.savez("wide.npz", logits=np.hstack([logits, logits[:, :2]]))
    np.savez("few.npz", counts=np.ones((10, 4)))
    np.save("array.npy", logits)
    np.savez("objects.npz", logits=logits, labels=np.array([print], dtype=object))
    Path("folder").mkdir()
    Path("p.csv").write_text("label,a,b\n0,1.5,-0.5\n1,2.0,1.0\n")
    Path("text.csv").write_text("label,a,b\n0,0.5,x\n1,0.5,0.5\n")
    Path("unlabeled.csv").write_text("a,b\n0.5,0.5\n")
    Path("names.csv").write_text("label,prob_cat,prob_dog\ncat,0.5,0.5\ncow,0.4,0.6\n")
    Path("both.csv").write_text("label,prob_a,prob_b,logit_a,logit_b\n0,0.5,0.5,1,1\n")
    Path("splits.csv").write_text("label,split,prob_a,prob_b\n0,test,1,0\n1,validation,0,1\n")
    Path("p.parquet").write_text("nothing")
    assert main(["judge", *words]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("mixcal: ")
    assert message in said


def test_json_is_strict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "wrong.npz", probs=np.tile([1.0, 0.0], (9, 1)), labels=np.ones(9, int))
    assert main(["judge", str(tmp_path / "wrong.npz"), "--json"]) == 0

    def refuse(word: str) -> None:
        raise AssertionError(word)

    found = json.loads(capsys.readouterr().out, parse_constant=refuse)["metrics"]
    assert found["nll"] == {"value": None, "low": None, "high": None}
    assert found["confidence_auroc"] == {"value": None, "low": 0, "high": 1}


def test_huge_logits_are_judged_without_a_warning() -> None:
    made = Predictions.of(np.array([0, 1, 0]), logits=np.array([[0, 1e300], [5, 1], [2, 1]]))
    found = summarized(made)["metrics"]["nll"]
    assert (found["low"], found["high"]) == (0, np.inf)
