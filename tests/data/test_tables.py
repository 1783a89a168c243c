"""Tables against the rows they were written from, in every form people save them."""

from pathlib import Path

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.tables import read_table

ROWS = {"path": ["a b.png", 'quote".png', "ümlaut,comma.png"], "label": ["cat", "", "dog"]}


def test_text_with_any_delimiter_and_line_ending(tmp_path: Path) -> None:
    for delimiter in ",;\t|":
        for ending in ("\n", "\r\n"):
            for mark in ("", "\ufeff"):
                lines = [
                    delimiter.join(("path", " label ")),
                    delimiter.join(("a b.png", "cat")),
                    "",
                    delimiter.join(('"quote"".png"', "")),
                    delimiter.join(('"ümlaut,comma.png"', " dog")),
                ]
                path = tmp_path / "m.csv"
                path.write_bytes((mark + ending.join(lines)).encode())
                table = read_table(path)
                assert table.columns == ROWS
                assert table.lines == [2, 4, 5]
                assert table.where(1) == f"{path}, line 4"


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "m.parquet"
    label = arrow.array([3, None, 12])
    picture = arrow.array([b"1", b"2", b"3"])
    parquet.write_table(arrow.table({"path": ROWS["path"], "label": label, "image": picture}), path)
    assert read_table(path).columns == {"path": ROWS["path"], "label": ["3", "", "12"]}


def test_columns_are_asked_for_by_name(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("file,label\nx.png,cat\n")
    table = read_table(tmp_path / "m.csv")
    with pytest.raises(BadInput, match=r"m\.csv has no column 'path' \(it has file, label\)"):
        table.column("path")
    assert table.optional("split") == [""]
    assert table.optional("label") == ["cat"]


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("path,label\na.png,Käse\n".encode("latin-1"), r"not UTF-8 text \(byte 0xe4 in line 2\)"),
        ("path,label\na.png,cat\n".encode("utf-16"), r"not UTF-8 text \(byte 0x.. in line 1\)"),
        ("path,label\na.png,cat\n".encode("utf-16-le"), "not UTF-8 text .*zero bytes"),
        (b"", "is empty"),
        (b"path,path\na,b\n", "two columns of the same name"),
        (b"path,label\na.png,cat,dog\n", "line 2: there are 3 cells for 2 columns"),
        (b'path,label\n"a.png,cat\n', "line 2: .*mend the line"),
    ],
)
def test_mistakes_get_one_sentence(contents: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_bytes(contents)
    with pytest.raises(BadInput, match=message):
        read_table(tmp_path / "m.csv")


def test_files_that_are_not_there_or_no_parquet(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="There is no file"):
        read_table(tmp_path / "m.csv")
    (tmp_path / "m.parquet").write_bytes(b"PAR1 but not really PAR1")
    with pytest.raises(BadInput, match=r"m\.parquet is no Parquet file"):
        read_table(tmp_path / "m.parquet")
