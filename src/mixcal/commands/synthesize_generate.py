"""`mixcal synthesize generate`: sets of images between two classes, into a store."""

import argparse
import math
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mixcal.commands.shards import check_ray, shard_of, use_threads

if TYPE_CHECKING:
    from mixcal.data.mixed_store import MixedStore
    from mixcal.synthesis.generation import Plan, SetMaker


def add_options(parser: argparse.ArgumentParser) -> None:
    """The generator, how many, the sampler's knobs, who does which part."""
    parser.add_argument("generator", type=Path, metavar="GENERATOR", help="a generator folder")
    parser.add_argument("--sets", type=int, required=True, metavar="N", help="sets of 8 images")
    parser.add_argument(
        "--into", type=Path, required=True, metavar="FOLDER", help="the store; one begun goes on"
    )
    parser.add_argument("--seed", type=int, default=0, help="other sets, all else equal")
    parser.add_argument("--steps", type=int, default=20, help="of the sampler (default 20)")
    parser.add_argument(
        "--guidance",
        type=float,
        default=0.0,
        metavar="W",
        help="classifier-free guidance; only for generators trained with label dropout",
    )
    parser.add_argument("--churn", type=float, default=0.0, help="stochastic sampler's S_churn")
    parser.add_argument(
        "--churn-range",
        type=float,
        nargs=2,
        default=(0.0, math.inf),
        metavar=("LOW", "HIGH"),
        help="noise levels S_min and S_max between which there is churn",
    )
    parser.add_argument("--churn-noise", type=float, default=1.0, help="S_noise (default 1)")
    parser.add_argument(
        "--sets-per-pass", type=int, default=8, metavar="N", help="a batch is 8 times this"
    )
    parser.add_argument(
        "--precision",
        choices=("float32", "bf16", "fp16"),
        default="",
        help="inside the network (default: as it was trained)",
    )
    parser.add_argument(
        "--shard", default="", metavar="I/N", help="this process's part (default: torchrun's)"
    )
    parser.add_argument("--ray", type=int, default=0, metavar="N", help="N workers of Ray Data")
    parser.add_argument("--device", default="auto", help="cpu, cuda, … (default: auto)")
    parser.add_argument("--threads", type=int, default=0, help="0: as torch takes by itself")


def run(options: argparse.Namespace) -> int:
    """Fill the store, with a bar; say how fast it went."""
    from mixcal.commands.progress import count_bar
    from mixcal.predicting.device import pick_device
    from mixcal.synthesis.filling import fill, opened_store, store_header
    from mixcal.synthesis.generation import SetMaker
    from mixcal.synthesis.model import load_generator
    from mixcal.training.interruption import listening

    shard = shard_of(options.shard)
    check_ray(options.ray, options.shard)
    use_threads(options.threads)
    device = pick_device(options.device, asked="--device")
    generator = load_generator(options.generator, device, precision=options.precision)
    plan = _plan(options)
    maker = SetMaker(generator, plan, device)
    header = store_header(generator, plan, device)
    store = opened_store(options.into, header, plan=plan, shape=generator.description.shape)
    began, used = time.perf_counter(), time.process_time()
    with listening() as stop, count_bar("sets") as bar:
        if options.ray:
            made = _by_ray(options, plan, store)
        else:
            made = fill(store, maker, shard=shard, show=bar.show, stop=stop)
    _report(store, maker, made, (time.perf_counter() - began, time.process_time() - used))
    if stop.requested:
        print(f"mixcal: stopped; the same command goes on with {options.into}", file=sys.stderr)
        return 130
    if store.complete():
        place = shlex.quote(str(options.into))
        print(f"store: {options.into}")
        print(f"next: mixcal synthesize annotate {place} --encoder run:RUN, RUN a run of yours")
    return 0


def _plan(options: argparse.Namespace) -> "Plan":
    from mixcal.synthesis.generation import Plan
    from mixcal.synthesis.sampler import Churn

    low, high = options.churn_range
    return Plan(
        sets=options.sets,
        seed=options.seed,
        steps=options.steps,
        guidance=options.guidance,
        churn=Churn(amount=options.churn, low=low, high=high, noise=options.churn_noise),
        sets_per_pass=options.sets_per_pass,
    )


def _by_ray(options: argparse.Namespace, plan: "Plan", store: "MixedStore") -> int:
    from mixcal.synthesis.filling import write
    from mixcal.synthesis.ray_jobs import LoadedSetMaker, by_ray

    made = 0
    given = {
        "generator": str(options.generator.resolve()),
        "plan": plan,
        "device": options.device,
        "precision": options.precision,
        "threads": options.threads,
    }
    blocks = plan.blocks.missing(store.done, (0, 1))
    for columns in by_ray(LoadedSetMaker, given, blocks, workers=options.ray):
        write(store, columns)
        made += len(columns["set"])
    return made


def _report(store: "MixedStore", maker: "SetMaker", made: int, spent: tuple[float, float]) -> None:
    """How many, how fast, and how much of it was not the network."""
    if not made:
        print(f"{int(store.done.sum()):,} of {len(store):,} sets are there; nothing was to do")
        return
    seconds, cpu = spent
    images = made * store.images.shape[1]
    speed = f"{images:,} images in {seconds:.1f} s ({cpu:.1f} s of CPU)"
    speed += f": {images / seconds:,.1f} a second"
    if maker.seconds:
        outside = 1 - maker.network.seconds / seconds
        speed += f"; {100 * outside:.1f} % of the time outside the network"
    print(f"{speed}\n{int(store.done.sum()):,} of {len(store):,} sets are there")
