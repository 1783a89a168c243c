"""`mixcal synthesize annotate`: λ_E and λ for every image of a store."""

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixcal.commands.encoders import WRITTEN, encoder_named
from mixcal.commands.shards import check_ray, shard_of, use_threads
from mixcal.core.errors import BadInput

if TYPE_CHECKING:
    from mixcal.data.mixed_store import MixedStore
    from mixcal.synthesis.annotation import Prototypes, Rule
    from mixcal.synthesis.encoders import Encoder
    from mixcal.synthesis.generation import Columns
    from mixcal.synthesis.scoring import Unfinished

S, SIZE = 4.0, 224


def add_options(parser: argparse.ArgumentParser) -> None:
    """The store, the encoder, the rule, who does which part."""
    parser.add_argument("store", type=Path, metavar="STORE", help="a store of mixed images")
    parser.add_argument("--encoder", required=True, metavar="KIND:PATH", help=WRITTEN)
    parser.add_argument(
        "--rule", choices=("projected", "direct"), default="projected", help="Eq. 11 or Eq. 7"
    )
    parser.add_argument(
        "--scale", type=float, metavar="S", help=f"s of the projected rule (default {S:g})"
    )
    parser.add_argument("--tau", type=float, help="τ of the direct rule")
    parser.add_argument("--normalize", action="store_true", help="features of length 1")
    parser.add_argument(
        "--shares", action="store_true", help="also the softmax over all classes' prototypes"
    )
    parser.add_argument(
        "--temperature", type=float, default=0.01, help="of the shares (default 0.01)"
    )
    parser.add_argument(
        "--size", type=int, default=SIZE, help=f"side for ImageNet networks (default {SIZE})"
    )
    parser.add_argument(
        "--per-class", type=int, default=0, metavar="N", help="prototypes of N images (0: all)"
    )
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="annotate a copy, which shares the images"
    )
    parser.add_argument(
        "--shard", default="", metavar="I/N", help="this process's part (default: torchrun's)"
    )
    parser.add_argument("--ray", type=int, default=0, metavar="N", help="N workers of Ray Data")
    parser.add_argument("--device", default="auto", help="cpu, cuda, … (default: auto)")
    parser.add_argument("--threads", type=int, default=0, help="0: as torch takes by itself")
    parser.add_argument("--data-folder", default="", help="where the training images lie")


def run(options: argparse.Namespace) -> int:
    """Prototypes, then every block of sets, then a picture sheet."""
    from mixcal.data.mixed_store import MixedStore
    from mixcal.data.store_copies import linked_copy
    from mixcal.predicting.device import pick_device
    from mixcal.synthesis.scoring import Unfinished
    from mixcal.synthesis.sheet import save_sheet

    shard = shard_of(options.shard)
    check_ray(options.ray, options.shard)
    use_threads(options.threads)
    rule = _rule(options)
    store = MixedStore.open(options.store)
    if not store.complete():
        raise BadInput(
            f"{store.path} has {int(store.done.sum()):,} of {len(store):,} sets; finish it with "
            "the same `mixcal synthesize generate` first."
        )
    if not store.header["data"]:
        raise BadInput(
            f"{store.path} does not know which data its generator was trained on; make it with a "
            "generator that was converted with --source."
        )
    device = pick_device(options.device, asked="--device")
    encoder = encoder_named(options.encoder, size=options.size, device=device)
    # After all words have been understood: a slip leaves no folder.
    if options.into is not None:
        store = linked_copy(store, options.into)
    job = Job(options, store, encoder, rule, shard)
    began = time.perf_counter()
    if not job.work():
        print(f"{store.path} is annotated like this already; nothing was to do")
        return 0
    speed = store.images.shape[0] * store.images.shape[1] / (time.perf_counter() - began)
    if not Unfinished(store).end(job.record):
        print("this shard is done; others are not")
        return 0
    save_sheet(MixedStore.open(store.path), store.path / "sheet.png")
    print(f"annotated {len(store):,} sets by {encoder.name}, {speed:,.0f} images a second")
    print(f"store: {store.path}\nsheet: {store.path / 'sheet.png'}")
    return 0


def _rule(options: argparse.Namespace) -> "Rule":
    from mixcal.synthesis.annotation import Rule

    for name, value, least in (("--per-class", options.per_class, 0), ("--size", options.size, 1)):
        if value < least:
            raise BadInput(f"{name} is {value}; it must be at least {least}.")
    direct = options.rule == "direct"
    given, other = (options.tau, options.scale) if direct else (options.scale, options.tau)
    if other is not None:
        raise BadInput("--scale is a knob of the projected rule, --tau one of the direct rule.")
    if direct and given is None:
        raise BadInput("The direct rule needs --tau; the paper names no value.")
    return Rule(
        name=options.rule,
        scale=S if given is None else given,
        shares=options.shares,
        temperature=options.temperature,
    )


@dataclass(slots=True)
class Job:
    """One process's part of an annotation."""

    options: argparse.Namespace
    store: "MixedStore"
    encoder: "Encoder"
    rule: "Rule"
    shard: tuple[int, int]

    @property
    def record(self) -> dict[str, Any]:
        """What decides the numbers."""
        header = self.store.header
        return {
            "encoder": self.encoder.name,
            "encoder_weights": self.encoder.fingerprint,
            "splits": header["splits"],
            "rule": self.rule.name,
            "scale": self.rule.scale,
            "shares_temperature": self.rule.temperature if self.rule.shares else None,
            "normalize": self.options.normalize,
            "per_class": self.options.per_class,
            "generator": header["generator"],
        }

    def work(self) -> bool:
        """Begin, or go on, and do this shard's blocks; False if the store has it all already."""
        from mixcal.commands.progress import count_bar
        from mixcal.synthesis.scoring import SetScorer, Unfinished

        unfinished = Unfinished(self.store)
        with unfinished.alone():
            if unfinished.ended(self.record):
                return False
            prototypes = unfinished.begun(self.record)
            if prototypes is None:
                prototypes = self.prototypes()
                prototypes.check(self.store.pairs, self.store.classes)
                unfinished.begin(self.record, prototypes, shares=self.rule.shares)
        scorer = SetScorer(self.encoder, prototypes, self.rule, self.store)
        blocks = scorer.blocks.missing(unfinished.map("done", "r"), self.shard)
        if self.options.ray:
            self.by_ray(unfinished, blocks, prototypes)
            return True
        with count_bar("annotating") as bar:
            for place, block in enumerate(blocks, start=1):
                unfinished.write(scorer({"block": [block]}))
                bar.show(place, len(blocks))
        return True

    def by_ray(self, unfinished: "Unfinished", blocks: Any, prototypes: "Prototypes") -> None:
        """The same by workers of Ray Data."""
        from mixcal.synthesis.ray_jobs import by_ray

        given = {
            "store": str(self.store.path.resolve()),
            "encoder": self.options.encoder,
            "size": self.options.size,
            "prototypes": prototypes,
            "rule": self.rule,
            "device": self.options.device,
            "threads": self.options.threads,
        }
        for found in by_ray(LoadedSetScorer, given, blocks, workers=self.options.ray):
            unfinished.write(found)

    def prototypes(self) -> "Prototypes":
        """Of the labeled images of the training split, which the generator saw too."""
        from mixcal.commands.progress import count_bar
        from mixcal.commands.training_images import training_images
        from mixcal.data.options import DataOptions
        from mixcal.recipe_check import built
        from mixcal.synthesis.options import GeneratorRunning
        from mixcal.synthesis.scoring import few_of_each, prototypes_of

        header = self.store.header
        where = f"{self.store.path / 'header.json'}: data"
        data = built(DataOptions, header["data"], where=where)
        running = GeneratorRunning(data_folder=self.options.data_folder)
        images = training_images(data, header["data_seed"], running)
        if images.splits.fingerprint != header["splits"]:
            raise BadInput(
                f"{images.source.name} no longer splits as it did for the generator of "
                f"{self.store.path}; restore the data."
            )
        pool = images.source.train
        with count_bar("prototypes") as bar:
            return prototypes_of(
                self.encoder,
                pool,
                few_of_each(pool.labels, images.members, self.options.per_class),
                classes=len(self.store.classes),
                normalize=self.options.normalize,
                show=bar.show,
            )


class LoadedSetScorer:
    """A scorer of sets that loads its encoder where it runs."""

    def __init__(
        self,
        *,
        store: str,
        encoder: str,
        size: int,
        prototypes: "Prototypes",
        rule: "Rule",
        device: str,
        threads: int,
    ) -> None:
        from mixcal.data.mixed_store import MixedStore
        from mixcal.predicting.device import pick_device
        from mixcal.synthesis.scoring import SetScorer

        use_threads(threads)
        named = encoder_named(encoder, size=size, device=pick_device(device, asked="--device"))
        self.scorer = SetScorer(named, prototypes, rule, MixedStore.open(Path(store)))

    def __call__(self, batch: Mapping[str, Any]) -> "Columns":
        return self.scorer(batch)
