"""Which of a run's weights, and which rescaler, a command uses."""

import argparse


def add_weights(parser: argparse.ArgumentParser) -> None:
    """The two options that `predict` and `export` share."""
    parser.add_argument(
        "--weights",
        choices=("averaged", "raw", "best"),
        help="averaged or raw ones of the last step, or the best by validation "
        "(default: averaged where the run averaged)",
    )
    parser.add_argument(
        "--rescaler",
        default="",
        metavar="NAME",
        help="one of the run's rescalers, or none (default: the run's own)",
    )
