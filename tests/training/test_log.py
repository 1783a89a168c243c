"""The log: lines, truncation on resume, and means that span a checkpoint."""

import json
from pathlib import Path

import pytest
import torch

from mixcal.training.log import Log, Means, rounded


def test_lines_are_kept_up_to_the_checkpoint(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    log.write({"step": 1})
    size = log.size
    log.write({"step": 2})
    log.close()
    again = Log(tmp_path / "log.jsonl", keep=size)
    again.write({"step": 3})
    again.close()
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 3]


def test_numbers_json_cannot_hold_become_null() -> None:
    record = rounded({"a": float("nan"), "b": [1 / 3, float("inf")], "c": 2})
    assert record == {"a": None, "b": [0.333333333, None], "c": 2}


def test_means_skip_what_was_not_there() -> None:
    means = Means()
    for value in (1.0, float("nan"), 2.0):
        means.add({"x": torch.tensor(value), "y": torch.tensor(float("nan"))})
    assert means.take() == {"x": 1.5, "y": None}
    assert means.take() == {}


def test_means_survive_a_checkpoint_exactly() -> None:
    whole, half = Means(), Means()
    values = torch.rand(10)
    for value in values:
        whole.add({"x": value})
    for value in values[:4]:
        half.add({"x": value})
    again = Means()
    again.restore(json.loads(json.dumps(half.state())), torch.device("cpu"))
    for value in values[4:]:
        again.add({"x": value})
    assert again.take() == whole.take()
    assert pytest.approx(values.mean().item()) == (values.sum() / 10).item()
