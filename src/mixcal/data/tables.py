"""Tables that people keep beside their data: CSV (or tab-separated text) and Parquet, as text."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mixcal.core.errors import BadInput

DELIMITERS = ",;\t|"


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of text, all of one length; an absent value is an empty text.

    `lines[i]` is the line of the file that row i stands in, so that errors can name it.
    """

    path: Path
    columns: Mapping[str, list[str]]
    lines: list[int]

    def column(self, name: str) -> list[str]:
        """One column; an error that names the others if it is not there."""
        if name not in self.columns:
            raise BadInput(
                f"{self.path} has no column {name!r} (it has {', '.join(self.columns) or 'none'}); "
                "add it, or rename one."
            )
        return self.columns[name]

    def optional(self, name: str) -> list[str]:
        """One column, or empty texts where it is not there."""
        return self.columns.get(name, [""] * len(self.lines))

    def where(self, row: int) -> str:
        """How an error calls a row."""
        return f"{self.path}, line {self.lines[row]}"


def read_table(path: Path) -> Table:
    """A table by its ending: .parquet, or text."""
    if not path.is_file():
        raise BadInput(f"There is no file {path}; give a .csv or .parquet.")
    return _parquet(path) if path.suffix == ".parquet" else _text(path)


def _text(path: Path) -> Table:
    data = path.read_bytes()
    try:
        # The mark that some programs write in front is not part of the first column's name.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput(
            f"{path} is not UTF-8 text (byte 0x{data[error.start]:02x} in line {line}); save it "
            "as UTF-8."
        ) from None
    if "\0" in text:
        raise BadInput(f"{path} is not UTF-8 text (it has zero bytes); save it as UTF-8.")
    first = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    columns: dict[str, list[str]] = {}
    lines = []
    try:
        names = [name.strip() for name in next(reader, [])]
        if not any(names):
            raise BadInput(f"{path} is empty; its first line must name the columns.")
        if len(set(names)) < len(names):
            raise BadInput(f"{path} has two columns of the same name; rename one.")
        columns = {name: [] for name in names}
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(names):
                raise BadInput(
                    f"{path}, line {reader.line_num}: there are {len(row)} cells for "
                    f"{len(names)} columns; mend the line."
                )
            for name, cell in zip(names, row, strict=True):
                columns[name].append(cell.strip())
            lines.append(reader.line_num)
    except csv.Error as error:
        raise BadInput(f"{path}, line {reader.line_num}: {error}; mend the line.") from None
    return Table(path, columns, lines)


def _parquet(path: Path) -> Table:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    try:
        table = parquet.read_table(path)
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise BadInput(f"{path} is no Parquet file ({reason}); write it again.") from None
    columns = {
        name: ["" if value is None else str(value).strip() for value in column.to_pylist()]
        for name, column in zip(table.column_names, table.columns, strict=True)
        # Pictures or embeddings kept in the table itself are not text.
        if not arrow.types.is_nested(column.type) and not arrow.types.is_binary(column.type)
    }
    return Table(path, columns, list(range(1, table.num_rows + 1)))
