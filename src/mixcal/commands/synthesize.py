"""`mixcal synthesize train | convert | generate | annotate`: images between classes and labels."""

import argparse
import importlib

# What is done, which module does it, what it is.
VERBS = (
    ("train", "train a class-conditional diffusion model on the training split"),
    ("convert", "make a published model's pickle a generator folder, running nothing in it"),
    ("generate", "make sets of images between two classes"),
    ("annotate", "say how much of either class every image is, by a frozen encoder"),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of each."""
    verbs = parser.add_subparsers(
        dest="verb", metavar="train | convert | generate | annotate", required=True
    )
    for verb, summary in VERBS:
        sub = verbs.add_parser(verb, help=summary, description=summary)
        importlib.import_module(f"mixcal.commands.synthesize_{verb}").add_options(sub)


def run(options: argparse.Namespace) -> int:
    """Do it."""
    return int(importlib.import_module(f"mixcal.commands.synthesize_{options.verb}").run(options))
