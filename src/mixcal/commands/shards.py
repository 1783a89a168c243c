"""Which part of a job is this process's, and on how many threads."""

import os
import re

from mixcal.core.errors import BadInput


def shard_of(text: str) -> tuple[int, int]:
    """ "2/4" as (2, 4): shard 2 of 0 … 3. Nothing said: what torchrun says, or the whole."""
    if not text:
        return _of_torchrun(os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", ""))
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or int(match[1]) >= int(match[2]):
        raise BadInput(f"--shard {text}: write it as 0/4, 1/4, 2/4 or 3/4 for four processes.")
    return int(match[1]), int(match[2])


def _of_torchrun(rank: str, processes: str) -> tuple[int, int]:
    if not rank and not processes:
        return 0, 1
    if not (rank.isdecimal() and processes.isdecimal()) or int(rank) >= int(processes):
        raise BadInput(
            f"RANK is {rank!r} and WORLD_SIZE {processes!r}, which say no process's part; unset "
            "both, set both as torchrun does, or give --shard."
        )
    return int(rank), int(processes)


def check_ray(workers: int, shard: str) -> None:
    """Whether Ray can do it, before anything is made."""
    if workers < 0:
        raise BadInput(f"--ray is {workers}; give the number of workers, or leave it out.")
    if workers and shard:
        raise BadInput("Ray deals out the blocks itself; leave --shard out.")
    if workers:
        from mixcal.synthesis.ray_jobs import ray_data

        ray_data()


def use_threads(count: int) -> None:
    """As many as --threads says; 0: as torch takes by itself."""
    if count < 0:
        raise BadInput(f"--threads is {count}; give 1 or more, or 0 for as many as torch takes.")
    if count:
        import torch

        torch.set_num_threads(count)
