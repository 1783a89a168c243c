"""An inert reader against what pickle itself would do: plain data the same, calls not made."""

import os
import pickle
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.synthesis.inert_pickle import Call, read_inert
from tests.support.command import SAME_PACKAGE


def read(folder: Path, content: bytes) -> object:
    (folder / "one.pkl").write_bytes(content)
    return read_inert(folder / "one.pkl")


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_data_are_read_as_they_are(tmp_path: Path, protocol: int) -> None:
    plain = {"a": [1, 2.5, None, True], "b": ("text", OrderedDict(x=1, y={"z": 2}))}
    assert read(tmp_path, pickle.dumps(plain, protocol)) == plain


def test_calls_are_noted(tmp_path: Path) -> None:
    found = read(tmp_path, pickle.dumps(np.float64(0.25)))
    assert isinstance(found, Call)
    assert found.called.endswith("multiarray.scalar")
    kind, number = found.args
    assert isinstance(kind, Call)
    assert (kind.called, kind.args[0]) == ("numpy.dtype", "f8")
    assert kind.state is not None
    assert number == np.float64(0.25).tobytes()


@pytest.mark.parametrize(
    "content",
    [
        # A dotted way round the module's name.
        b"\x80\x04\x8c\x05torch\x8c\x0c_utils.torch\x93.",
        b"cos\nsystem\n(S'true'\ntR.",
        b"(S'true'\nios\nsystem\n.",
        b"(cos\nsystem\nS'true'\no.",
        b"cbuiltins\ngetattr\n.",
    ],
)
def test_names_on_no_list(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BadInput, match="could run foreign code"):
        read(tmp_path, content)


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x04}K\x01" + b"\x85" * 3_000_000 + b"K\x01s.",
        # Twice as deep in half the bytes, by way of the memo.
        b"\x80\x04}K\x01" + b"\x85\x94" * 1_500_000 + b"h\x00K\x01s.",
        b"\x80\x04}(" + b"N" * 1_500_000 + b"t0.",
    ],
)
def test_pickles_nested_deeper_than_a_stack_are_refused(tmp_path: Path, content: bytes) -> None:
    """In a process of its own: it may die."""
    (tmp_path / "deep.pkl").write_bytes(content)
    script = (
        "from pathlib import Path\n"
        "from mixcal.synthesis.inert_pickle import read_inert\n"
        f"read_inert(Path({str(tmp_path / 'deep.pkl')!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | SAME_PACKAGE,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.returncode
    assert "BadInput" in done.stderr
    assert "more parts than any published generator has" in done.stderr


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no pickle",
        b"\x80\x63.",
        # Attributes for a container's class, and for the class of a call.
        b"\x80\x04cbuiltins\ndict\nN}\x8c\x03getK\x01s\x86b.",
        b"\x80\x04ctorch.storage\n_load_from_bytes\nN}\x8c\x04argsK\x01s\x86b.",
        # An object that the file keeps elsewhere.
        b"Pelsewhere\n.",
        b"\x80\x05\x97.",
    ],
)
def test_what_is_no_pickle_or_changes_a_class(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BadInput, match="cannot be read as a pickle"):
        read(tmp_path, content)
    assert Call.__slots__ == ("args", "state")
