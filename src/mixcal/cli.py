"""The command line: finds the verb, then imports what the verb needs and nothing more."""

import argparse
import importlib
import sys
import warnings
from collections.abc import Sequence

from mixcal import __version__
from mixcal.core.errors import BadInput
from mixcal.core.full_disk import telling_when_full
from mixcal.training.interruption import Interrupted

# Verb, module within mixcal.commands, what it does.
VERBS = (
    ("train", "train", "train a recipe, or resume a run, and judge it"),
    ("predict", "predict", "classes and probabilities for picture files, by a run or a bundle"),
    ("probe", "probe", "the network of a run on noise, on foreign pictures, away from the data"),
    ("export", "export", "a run as one folder that works without the training code"),
    ("rescale", "rescale", "fit a rescaler on validation predictions, apply it to others"),
    ("judge", "judge", "judge predictions: every number about their confidence, with intervals"),
    ("plot", "plot", "pictures for files: diagrams, curves, sheets, bars of studies"),
    ("compare", "compare", "runs or prediction files against each other, with paired differences"),
    ("study", "study", "run a grid of recipes and seeds, resumable, with a table"),
    ("synthesize", "synthesize", "images between classes: train, generate, annotate"),
    ("data", "data", "list, fetch or check data sets, published ones and your own"),
    ("recipes", "recipes", "list the recipes that come along"),
    ("methods", "methods", "list algorithms, calibrators, backbones and data sources"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 if all went well, 2 for wrong input, 130 after Ctrl-C."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    warnings.showwarning = _show_warning
    try:
        parser, command = parser_for(words)
        options = parser.parse_args(words)
        if command is None:
            parser.print_help()
            return 0
        with telling_when_full():
            return int(importlib.import_module(command).run(options))
    except BadInput as error:
        print(f"mixcal: {error}", file=sys.stderr)
        return 2
    except Interrupted as stopped:
        print(f"mixcal: {stopped}", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print("mixcal: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone (`mixcal recipes | head`).
        sys.stderr.close()
        return 0


def parser_for(words: list[str]) -> tuple[argparse.ArgumentParser, str | None]:
    """A parser that knows every verb by name and the options of the one that is used."""
    parser = argparse.ArgumentParser(
        prog="mixcal", description="Train image classifiers whose confidence can be trusted."
    )
    parser.add_argument("--version", action="version", version=f"mixcal {__version__}")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND")
    used = next((word for word in words if not word.startswith("-")), None)
    command = None
    for verb, module, summary in VERBS:
        sub = verbs.add_parser(verb, help=summary, description=summary)
        if verb == used:
            command = f"mixcal.commands.{module}"
            importlib.import_module(command).add_options(sub)
    return parser, command


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"mixcal: warning: {message}", file=sys.stderr)
