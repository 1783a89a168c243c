"""Rows by hand: taking and joining keeps inputs, targets and indices together."""

import torch

from mixcal.core.rows import Rows, join


def rows(*index: int, part: str = "labeled") -> Rows:
    places = torch.tensor(index)
    return Rows(
        inputs=places[:, None].float(),
        targets=torch.nn.functional.one_hot(places % 3, 3).float(),
        index=places,
        part=part,
    )


def test_take_keeps_what_belongs_together() -> None:
    taken = rows(4, 7, 9).take(torch.tensor([2, 0]), part="mixed")
    assert taken.index.tolist() == [9, 4]
    assert taken.inputs[:, 0].tolist() == [9.0, 4.0]
    assert taken.targets.argmax(1).tolist() == [0, 1]
    assert taken.part == "mixed"


def test_join_is_one_after_the_other() -> None:
    both = join(rows(1, 2), rows(5, part="strong"), part="both")
    assert both.index.tolist() == [1, 2, 5]
    assert len(both) == 3
    assert both.part == "both"
