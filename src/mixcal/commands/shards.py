"""Which part of a job is this process's."""

import os
import re

from mixcal.core.errors import BadInput


def shard_of(text: str) -> tuple[int, int]:
    """ "2/4" as (2, 4): shard 2 of 0 … 3. Nothing said: what torchrun says, or the whole."""
    if not text:
        return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or int(match[1]) >= int(match[2]):
        raise BadInput(f"--shard {text}: write it as 0/4, 1/4, 2/4 or 3/4 for four processes.")
    return int(match[1]), int(match[2])
