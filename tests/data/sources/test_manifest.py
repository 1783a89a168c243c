"""Manifests: what is read against what the table says, and one sentence for each mistake."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.source import Source
from mixcal.data.sources.manifest import read_manifest
from tests.support.pictures import picture, save
from tests.support.published import options, reading

ROWS = """path,label,split
images/0.png,cat,train
images/1.png,dog,
images/2.png,,
images/3.png,cat,test
images/4.png,dog,Val
"""


def table(folder: Path, text: str = ROWS) -> Path:
    for number in range(6):
        save(folder / "images" / f"{number}.png", picture(number))
    (folder / "m.csv").write_text(text)
    return folder / "m.csv"


def read(path: Path, *, strict: bool = False, **more) -> Source:
    return read_manifest(
        options("manifest", path=str(path), **more), reading(Path(), strict=strict)
    )


def test_labels_splits_and_unlabeled_rows(tmp_path: Path) -> None:
    source = read(table(tmp_path))
    assert source.classes == ("cat", "dog")
    assert source.train.labels.tolist() == [0, 1, -1]
    assert source.train.ids.tolist() == [f"images/{number}.png" for number in range(3)]
    assert source.test.labels.tolist() == [0]
    assert source.validation.labels.tolist() == [1]
    raw = source.train.take(np.array([2])).permute(0, 2, 3, 1).numpy()
    assert np.array_equal(raw[0], picture(2))
    assert source.own
    assert not source.remarks


def test_parquet_absolute_paths_and_other_files(tmp_path: Path) -> None:
    table(tmp_path)
    paths = [str(tmp_path / "images" / f"{number}.png") for number in range(4)]
    columns = {"path": paths, "label": [10, 9, 10, None]}
    (tmp_path / "elsewhere").mkdir()
    parquet.write_table(arrow.table(columns), tmp_path / "elsewhere" / "m.parquet")
    (tmp_path / "test.csv").write_text("path,label\nimages/4.png,9\n")
    save(tmp_path / "pile" / "x.png", picture(9))
    source = read(
        tmp_path / "elsewhere" / "m.parquet",
        test_path=str(tmp_path / "test.csv"),
        unlabeled_path=str(tmp_path / "pile"),
    )
    assert source.classes == ("9", "10")
    assert source.train.labels.tolist() == [1, 0, 1, -1, -1]
    assert source.test.labels.tolist() == [0]
    assert source.test.take(np.array([0])).shape == (1, 3, 20, 20)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("images/1.png", "images/9.png", r"line 3: there is no file images/9\.png in .*mend"),
        ("images/1.png", "images/0.png", r"line 3: images/0\.png stands in line 2 already"),
        ("images/1.png", "", "line 3: the path is empty"),
        (
            "cat,test",
            "cow,test",
            r"line 5: label 'cow' lies outside the training classes \(cat, dog",
        ),
        ("cat,test", ",test", "line 5: no label; a test picture needs one"),
        ("cat,test", "cat,tset", "line 5: split is 'tset'; it must be train"),
        ("path,", "file,", "no column 'path'"),
        (",label,", ",class,", "no column 'label'"),
        ("dog,\n", "cat,\n", "lies outside|has 1 classes"),
    ],
)
def test_mistakes_get_one_sentence(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in ROWS
    with pytest.raises(BadInput, match=message):
        read(table(tmp_path, ROWS.replace(old, new)))


def test_a_manifest_of_tests_only(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"lies outside|no training rows"):
        read(table(tmp_path, "path,label,split\nimages/0.png,cat,test\n"))


def test_a_file_that_is_no_picture_is_counted_or_refused(tmp_path: Path) -> None:
    path = table(tmp_path)
    (tmp_path / "images" / "2.png").write_text("a note about cats")
    source = read(path)
    assert source.train.labels.tolist() == [0, 1]
    assert (
        "1 of 5 pictures cannot be read and are left out (like images/2.png: it is no pict"
        in (source.remarks[0])
    )
    with pytest.raises(BadInput, match=r"images/2\.png cannot be read as a picture \(it is no"):
        read(path, strict=True)


@pytest.mark.real_data
def test_real_pictures_of_mixed_channels(tmp_path: Path) -> None:
    folder = Path(os.environ["MIXCAL_DATA"]) / "tiny-imagenet"
    with zipfile.ZipFile(next(folder.glob("*.zip"))) as archive:
        archive.extractall(tmp_path)
    index = next(tmp_path.rglob("index.csv"))
    text = index.read_text().replace(",val,", ",test,")
    index.write_text(text)
    source = read(index)
    assert (len(source.classes), len(source.train), len(source.test)) == (20, 2000, 1000)
    assert np.bincount(source.train.labels).tolist() == [100] * 20
    assert source.train.take(np.arange(2)).shape == (2, 3, 64, 64)
    (remark,) = source.remarks
    assert remark.startswith("44 gray pictures among 3,000 are read as colour")
    pixels = source.train.raw.float() / 255
    # A tenth of the classes: near the statistics of the whole set, not equal to them.
    assert np.allclose(pixels.mean((0, 2, 3)), (0.4802, 0.4481, 0.3975), atol=0.03)
    assert np.allclose(pixels.std((0, 2, 3)), (0.2770, 0.2691, 0.2821), atol=0.02)
