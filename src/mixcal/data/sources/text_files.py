"""Files of texts as they were published: where they lie, and their lines."""

from collections.abc import Sequence
from pathlib import Path

from mixcal.core.errors import BadInput
from mixcal.data.reading import Reading
from mixcal.data.sources.place import first_there, places

FOLDER = "text"


def text_file(name: str, file: str, reading: Reading) -> Path:
    """A file of a set, in a folder of the set's name, in "text", or in the data folder itself."""
    path = first_there(places(name, reading, FOLDER), [file])
    if path is None:
        raise BadInput(
            f"{name} is not in {reading.folder} (looked for {FOLDER}/{file} and {name}/{file}); "
            "`mixcal data list` says where it is published."
        )
    return path


def lines_of(path: Path, encodings: Sequence[str]) -> list[str]:
    """The lines that are not empty, in the first of these encodings that fits."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error}).") from None
    for encoding in encodings:
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        # Only line feeds end a line: Latin-1 has further control characters in words.
        return [line for line in (part.strip() for part in text.split("\n")) if line]
    raise BadInput(f"{path} is no text in {' or '.join(encodings)}; get the file again.")
