"""`--logits` and `--probs`: what the scores of files are that do not say it."""

import argparse


def add_kind(parser: argparse.ArgumentParser) -> None:
    """One of both, or neither."""
    kind = parser.add_mutually_exclusive_group()
    for name in ("logits", "probs"):
        kind.add_argument(
            f"--{name}",
            dest="kind",
            action="store_const",
            const=name,
            help=f"the scores of files that do not say it are {name}",
        )
