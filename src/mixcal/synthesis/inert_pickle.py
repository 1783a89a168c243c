"""Pickles read as data: what a file wants called is written down, and nothing is called.

A pickle is a list of calls of functions that it names. Here every name is looked up in two short
lists; plain containers are made, everything else becomes a `Call` that holds the arguments. Code
that travels in a file stays the text it is. A name on neither list is refused.
"""

import pickle
import pickletools
from io import BufferedIOBase
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from mixcal.core.errors import BadInput

OBJECT = "torch_utils.persistence._reconstruct_persistent_obj"
MODULES = "torch.nn.modules.container.ModuleDict"
TENSOR = "torch._utils._rebuild_tensor_v2"
PARAMETER = "torch._utils._rebuild_parameter"
STORAGE = "torch.storage._load_from_bytes"

NOTED = frozenset(
    {
        OBJECT,
        MODULES,
        TENSOR,
        PARAMETER,
        STORAGE,
        "numpy.dtype",
        "numpy.core.multiarray.scalar",
        "numpy._core.multiarray.scalar",
    }
)
MADE = {
    "builtins.dict": dict,
    "builtins.set": set,
    "collections.OrderedDict": dict,
    "dnnlib.util.EasyDict": dict,
}
# A published network for 64 × 64 has about 2,500 tuples among 45,000 opcodes.
MOST_TUPLES = 30_000
MOST_OPCODES = 1_000_000
BROKEN = (
    pickle.UnpicklingError,
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
)


class Call:
    """A call that was asked for, with the state that its result was to be given."""

    __slots__ = ("args", "state")
    called = ""

    args: tuple[Any, ...]
    state: Any

    def __new__(cls, *args: Any) -> "Call":
        made = super().__new__(cls)
        made.args = args
        made.state = None
        return made

    def __setstate__(self, state: Any) -> None:
        self.state = state


class Reader(pickle.Unpickler):
    """An unpickler that imports nothing."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        super().__init__(file)
        self.path = path
        # Classes of this reader alone, in case a file finds a way to change one.
        self.kinds: dict[str, type] = {}

    def find_class(self, module_name: str, global_name: str, /) -> type:
        """The container or the kind of call that goes by this name."""
        name = f"{module_name}.{global_name}"
        if name in MADE:
            return MADE[name]
        if name not in NOTED:
            raise BadInput(
                f"{self.path} asks for {name[:80]!r}, which could run foreign code and is no part "
                "of a published generator; nothing was run, and you had better delete the file."
            )
        return self.kinds.setdefault(
            name, type("Noted", (Call,), {"__slots__": (), "called": name})
        )


def check_size(file: BufferedIOBase) -> None:
    """Refuse a pickle, from here to its end, that no unpickler could be trusted with.

    Tuples within tuples are hashed by a recursion that nothing bounds: some hundred thousand of
    them overflow the stack of the process. Fewer tuples in all cannot be nested deeper.
    """
    tuples = 0
    for place, (opcode, _, _) in enumerate(pickletools.genops(cast(IO[bytes], file))):
        tuples += opcode.name.startswith("TUPLE")
        if tuples > MOST_TUPLES or place > MOST_OPCODES:
            raise ValueError("more parts than any published generator has")


def read_inert(path: Path) -> Any:
    """The file's dictionaries, lists, numbers and texts; calls as `Call`."""
    try:
        with open(path, "rb") as file:
            check_size(file)
            file.seek(0)
            return Reader(file, path).load()
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); check the path.") from None
    except BROKEN as error:
        reason = str(error).partition("\n")[0][:120]
        raise BadInput(f"{path} cannot be read as a pickle ({reason}).") from None
