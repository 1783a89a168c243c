"""What the system counts as a process's memory, after blocks were freed that were kept or not."""

import subprocess
import sys

import pytest

FREED = """
import ctypes, re, sys
from mixcal.training.memory import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
before, size = resident(), 20 << 20
blocks = [libc.malloc(size) for _ in range(8)]
for block in blocks:
    ctypes.memset(block, 1, size)
for block in blocks:
    libc.free(block)
print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc alone has mallopt")
@pytest.mark.parametrize(("word", "kept"), [("kept", True), ("given back", False)])
def test_freed_blocks_stay(word: str, kept: bool) -> None:
    """Of 160 MiB."""
    stays = float(subprocess.check_output([sys.executable, "-c", FREED, word]))
    assert (stays > 150) == kept
