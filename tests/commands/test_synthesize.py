"""The four commands from images to a trained network, in small; each against what it promises."""

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from mixcal.commands.shards import shard_of
from mixcal.core.errors import BadInput
from mixcal.data.mixed_store import MixedStore
from mixcal.synthesis.generation import Plan
from mixcal.synthesis.ray_jobs import LoadedSetMaker, locally
from tests.support.runs import ran
from tests.support.synthesized import LITTLE, SAMPLER, SMALL


def test_a_store_of_every_pair(made: Path) -> None:
    store = MixedStore.open(made / "store")
    assert store.complete()
    assert len({tuple(pair) for pair in store.pairs}) == 3
    assert store.pairs[45].tolist() == [0, 1]
    header = json.loads((made / "generator" / "generator.json").read_text())
    assert store.header["splits"] == header["splits"]
    annotation = store.annotation()
    assert annotation is not None
    assert annotation.record["encoder"].startswith("run run")
    assert annotation.record["per_class"] == 5
    assert (made / "store" / "sheet.png").stat().st_size > 10_000


def test_the_same_bytes_in_one_process_and_through_batches(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("synthesize", "generate", made / "generator", "--sets", "46", *SAMPLER)
    assert ran(*words, "--into", tmp_path / "one") == 0
    said = capsys.readouterr().out
    assert "368 images in" in said
    assert "of the time outside the network" in said
    names = ("images", "seeds", "pairs", "done")
    for name in names:
        ours, theirs = (
            (root / f"{name}.npy").read_bytes() for root in (tmp_path / "one", made / "store")
        )
        assert ours == theirs, name
    assert ran(*words, "--into", tmp_path / "one") == 0
    assert "nothing was to do" in capsys.readouterr().out
    store = MixedStore.open(made / "store")
    plan = Plan(sets=46, steps=3, sets_per_pass=4)
    given = {"generator": str(made / "generator"), "plan": plan, "device": "cpu"}
    for columns in locally(LoadedSetMaker, given, np.array([11, 2])):
        assert np.array_equal(columns["images"], store.images[columns["set"]])
        assert np.array_equal(columns["pair"], store.pairs[columns["set"]])


def test_training_on_it(made: Path, tmp_path: Path) -> None:
    knobs = f'[{{ name = "csm", images = "{made / "store"}", labels = "shares" }}]'
    words = ("train", "--data", made / "mine", *LITTLE, "--set", f"method.calibrators={knobs}")
    assert ran(*words, "--into", tmp_path / "run") == 0
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert all(line["loss_synthetic"] > 0 for line in log if "loss_labeled" in line)
    remarks = json.loads((tmp_path / "run" / "judgement.json").read_text())["remarks"]
    assert any("46 sets of generator" in remark for remark in remarks)
    assert not any("another split" in remark for remark in remarks)


def test_equal_data_are_those_of_the_copies(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def status(equal: int) -> int:
        knobs = f'[{{ name = "csm", images = "{made / "store"}", n_aug = 1 }}]'
        settings = (f"method.calibrators={knobs}", f"method.equal_data={equal}")
        words = (word for setting in settings for word in ("--set", setting))
        plain = (*LITTLE, "--set", "method.epoch_steps=0")
        run = tmp_path / f"run-{equal}"
        return ran("train", "--data", made / "mine", *plain, *words, "--into", run)

    assert status(2) == 2
    assert "equal_data is 2, but 1 further images go with every" in capsys.readouterr().err
    assert status(1) == 0


def test_a_copy_for_another_rule(made: Path, tmp_path: Path) -> None:
    words = ("synthesize", "annotate", made / "store", "--encoder", f"run:{made / 'run'}")
    words = (*words, "--per-class", "3", "--into", tmp_path / "direct")
    assert ran(*words, "--rule", "direct", "--tau", "5") == 0
    annotation = MixedStore.open(tmp_path / "direct").annotation()
    assert annotation is not None
    assert annotation.record["rule"] == "direct"
    assert annotation.record["scale"] == 5
    assert annotation.targets is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--encoder", "run"), "write it as run:FOLDER"),
        (("--encoder", "nothing:x"), "nothing"),
        (("--encoder", "small:x.pth"), "stem"),
        (("--encoder", "clip:/nowhere"), "no CLIP model"),
        (("--encoder", "run:/nowhere"), "is no run folder"),
        (("--encoder", "run:x", "--rule", "direct"), "needs --tau"),
        (("--encoder", "run:x", "--tau", "1"), "--tau one of the direct rule"),
        (("--encoder", "run:x", "--scale", "-1"), "must be above 0"),
        (("--encoder", "run:x", "--scale", "nan"), "must be above 0"),
        (("--encoder", "run:x", "--per-class", "-1"), "--per-class is -1"),
        (("--encoder", "run:x", "--size", "0"), "--size is 0"),
        (("--encoder", "run:x", "--threads", "-1"), "--threads is -1"),
        (("--encoder", "run:x", "--ray", "-1"), "--ray is -1"),
        (("--encoder", "run:x", "--ray", "1", "--shard", "0/2"), "leave --shard out"),
        (("--encoder", "run:x", "--ray", "1"), "needs the package ray"),
    ],
)
def test_wrong_words_are_one_sentence_and_leave_no_folder(
    made: Path,
    words: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ray.data", None)
    monkeypatch.setitem(sys.modules, "ray", None)
    into = made / "never"
    assert ran("synthesize", "annotate", made / "store", *words, "--into", into) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert not into.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--guidance", "inf"), "Guidance is inf"),
        (("--churn", "nan"), "amount of churn is nan"),
        (("--churn", "3", "--churn-range", "5", "1"), "from 5.0 to 1.0"),
        (("--threads", "-1"), "--threads is -1"),
        (("--ray", "1"), "needs the package ray"),
    ],
)
def test_wrong_words_of_generate_leave_no_store(
    made: Path,
    words: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ray.data", None)
    monkeypatch.setitem(sys.modules, "ray", None)
    command = ("synthesize", "generate", made / "generator", "--sets", "2")
    assert ran(*command, "--into", made / "none", *words) == 2
    assert message in capsys.readouterr().err
    assert not (made / "none").exists()


@pytest.mark.parametrize("place", ["file/store", "file", "/proc/store", "x" * 300])
def test_places_where_nothing_can_be_made(
    made: Path, tmp_path: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    command = ("synthesize", "generate", made / "generator", "--sets", "2", *SAMPLER)
    assert ran(*command, "--into", tmp_path / place) == 2
    assert "--into" in capsys.readouterr().err
    train = ("synthesize", "train", "--data", made / "mine", "--into", tmp_path / place)
    assert ran(*train, *(word for key in SMALL for word in ("--set", key))) == 2
    assert "--into" in capsys.readouterr().err


def test_next_lines_run_as_they_are_printed(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = [word for key in SMALL for word in ("--set", key)]
    into = tmp_path / "two words ü"
    assert ran("synthesize", "train", "--data", made / "mine", *settings, "--into", into) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("next:")]
    words = shlex.split(line.removeprefix("next: mixcal "))
    assert words[2:] == [str(into), "--sets", "2", "--into", f"{into}-images"]
    assert ran(*words, *SAMPLER) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("next:")]
    words = shlex.split(line.removeprefix("next: mixcal ").partition(",")[0])
    assert words == ["synthesize", "annotate", f"{into}-images", "--encoder", "run:RUN"]


def test_a_recipe_that_cannot_be_built_leaves_no_folder(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = [word for key in SMALL for word in ("--set", key)]
    command = ("synthesize", "train", "--data", made / "mine", *settings, "--into", tmp_path / "g")
    for key in ("method.learning_rate=nan", "running.device=nowhere", "method.network.width=0"):
        assert ran(*command, "--set", key) == 2
        assert "Traceback" not in capsys.readouterr().err
        assert not (tmp_path / "g").exists()


def test_annotating_again_like_before_changes_nothing(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A shard that comes when the others have ended finds nothing to do."""
    before = {file: file.read_bytes() for file in (made / "store").glob("*.[jn]*")}
    annotate = ("synthesize", "annotate", made / "store", "--encoder", f"run:{made / 'run'}")
    assert ran(*annotate, "--shares", "--per-class", "5", "--shard", "1/2") == 0
    assert "nothing was to do" in capsys.readouterr().out
    assert not (made / "store" / "annotation.part").exists()
    assert {file: file.read_bytes() for file in (made / "store").glob("*.[jn]*")} == before


def test_unfinished_stores_and_other_plans(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("synthesize", "generate", made / "generator", "--into", tmp_path / "half", *SAMPLER)
    assert ran(*words, "--sets", "8", "--shard", "0/2") == 0
    assert ran("synthesize", "annotate", tmp_path / "half", "--encoder", "run:x") == 2
    assert "4 of 8 sets; finish it" in capsys.readouterr().err
    assert ran(*words, "--sets", "9") == 2
    assert "begun with sets = 8, not 9" in capsys.readouterr().err


def test_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert shard_of("") == (0, 1)
    assert shard_of("2/4") == (2, 4)
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "5")
    assert shard_of("") == (3, 5)
    for wrong in ("4/4", "a", "1-2"):
        with pytest.raises(BadInput, match=f"--shard {wrong}"):
            shard_of(wrong)
    for rank, processes in (("abc", "2"), ("1", ""), ("", "4"), ("2", "2"), ("-1", "2")):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", processes)
        with pytest.raises(BadInput, match=f"RANK is '{rank}'"):
            shard_of("")
