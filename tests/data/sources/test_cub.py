"""CUB-200-2011's text files against a made-up copy of their layout with classes, parts and pictures
that are known."""

from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.sources.cub import read_cub
from tests.support.pictures import picture, save
from tests.support.published import options, reading

# Number, file, class number, training: neither in order nor one class after the other.
PICTURES = (
    ("1", "001.Black_footed_Albatross/Black_Footed_Albatross_0046_18.jpg", "1", "0"),
    ("2", "002.Laysan_Albatross/Laysan_Albatross_0002_1027.jpg", "2", "1"),
    ("3", "001.Black_footed_Albatross/Black_Footed_Albatross_0009_34.jpg", "1", "1"),
    ("10", "003.Sooty_Albatross/Sooty_Albatross_0048_1130.jpg", "3", "1"),
    ("11", "002.Laysan_Albatross/Laysan_Albatross_0044_784.jpg", "2", "0"),
)


def tree(root: Path) -> Path:
    columns = {"images.txt": 1, "image_class_labels.txt": 2, "train_test_split.txt": 3}
    for place, row in enumerate(PICTURES):
        save(root / "images" / row[1], picture(place, size=(30, 24)), quality=95)
    for name, column in columns.items():
        (root / name).write_text("".join(f"{row[0]} {row[column]}\n" for row in PICTURES))
    names = ("001.Black_footed_Albatross", "002.Laysan_Albatross", "003.Sooty_Albatross")
    (root / "classes.txt").write_text("".join(f"{k + 1} {name}\n" for k, name in enumerate(names)))
    return root


@pytest.mark.parametrize("place", ["cub-200-2011/CUB_200_2011", "cub-200-2011", "CUB_200_2011"])
def test_parts_and_classes_are_those_of_the_text_files(tmp_path: Path, place: str) -> None:
    tree(tmp_path / place)
    source = read_cub(options("cub-200-2011", image_size=16), reading(tmp_path))
    assert source.classes == ("Black footed Albatross", "Laysan Albatross", "Sooty Albatross")
    assert source.train.labels.tolist() == [1, 0, 2]
    assert source.test.labels.tolist() == [0, 1]
    assert source.train.ids[1] == f"images/{PICTURES[2][1]}"
    assert source.mean == (0.485, 0.456, 0.406)
    assert not source.remarks
    seen = source.train.take(np.array([2]))
    assert seen.shape == (1, 3, 16, 16)
    # The picture of row 3 of the list, and not another one: its mean survives JPEG and resizing.
    means = [picture(k, size=(30, 24))[3:27].mean((0, 1)) for k in range(len(PICTURES))]
    off = [np.abs(seen[0].float().mean((1, 2)).numpy() - mean).sum() for mean in means]
    assert int(np.argmin(off)) == 3


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cub-200-2011 is not in .*mixcal data fetch cub-200-2011"):
        read_cub(options("cub-200-2011"), reading(tmp_path))
    root = tree(tmp_path / "cub-200-2011")
    assert (
        "image_size is not set" in read_cub(options("cub-200-2011"), reading(tmp_path)).remarks[0]
    )
    parts = root / "train_test_split.txt"
    whole = parts.read_text()
    parts.write_text(whole.replace("10 1\n", ""))
    with pytest.raises(BadInput, match=r"picture 10 \(003.Sooty"):
        read_cub(options("cub-200-2011"), reading(tmp_path))
    parts.write_text("one 1\n")
    with pytest.raises(BadInput, match="line 1: 'one 1'"):
        read_cub(options("cub-200-2011"), reading(tmp_path))
    parts.write_text(whole)
    (root / "images" / PICTURES[4][1]).unlink()
    with pytest.raises(BadInput, match=r"has no file images/002.Laysan"):
        read_cub(options("cub-200-2011"), reading(tmp_path))
