"""Lines of published text files: encodings in turn, and only line feeds end a line."""

from pathlib import Path

import pytest

from mixcal.core.errors import BadInput
from mixcal.data.sources.text_files import lines_of


def test_the_first_encoding_that_fits(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("caf\xe9\n\nna\xefve\n".encode("cp1252"))
    assert lines_of(path, ("utf-8", "cp1252")) == ["caf\xe9", "na\xefve"]


def test_a_control_character_is_no_end_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\x85two\nthree\n")
    assert len(lines_of(path, ("iso-8859-1",))) == 2


def test_no_encoding_fits(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(BadInput, match="utf-8"):
        lines_of(path, ("utf-8",))
