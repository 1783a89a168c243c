"""Freed memory, kept for the next step.

The C library of Linux gives large blocks back to the system as soon as they are free, and every
step's activations have to be paged in anew: 7 % of the CPU seconds of a float32 step.
"""

import ctypes
import sys

# The numbers of mallopt's parameters in glibc, and the largest threshold it takes.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
MOST_MAPPED = 32 << 20
NEVER = 2**31 - 1


def keep_freed_memory() -> None:
    """Let this process keep what it frees; nothing happens with another C library."""
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    mallopt(MMAP_THRESHOLD, MOST_MAPPED)
    mallopt(TRIM_THRESHOLD, NEVER)
