"""An inert reader against what pickle itself would do: plain data the same, calls not made."""

import pickle
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.synthesis.inert_pickle import Call, read_inert


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
