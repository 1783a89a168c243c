"""`mixcal recipes`: what comes along."""

import argparse
import itertools

from mixcal.commands.places import recipe_folder


def add_options(parser: argparse.ArgumentParser) -> None:
    """A part of the name to look for."""
    parser.add_argument("containing", nargs="?", default="", help="only names that contain this")


def run(options: argparse.Namespace) -> int:
    """Name and first sentence of each recipe."""
    folder, found = recipe_folder(), {}
    for path in sorted(folder.rglob("*.toml")):
        name = path.relative_to(folder).with_suffix("").as_posix()
        if name.rsplit("/", 1)[-1].startswith("_") or options.containing not in name:
            continue
        found[name] = first_sentence(path.read_text())
    width = max(map(len, found), default=0)
    for name, first in found.items():
        print(f"{name:{width}s} {first}")
    return 0


def first_sentence(text: str) -> str:
    """The first sentence of the comment a recipe begins with."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    sentence, _, _ = " ".join(line.lstrip("# ") for line in lines).partition(". ")
    return sentence.removesuffix(".") + "."
