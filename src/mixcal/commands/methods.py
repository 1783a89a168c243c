"""`mixcal methods`: the catalog."""

import argparse
import json
from pathlib import Path

from mixcal.core.errors import BadInput


def add_options(parser: argparse.ArgumentParser) -> None:
    """As a table or as JSON."""
    parser.add_argument("--json", action="store_true", help="one JSON list with every knob")
    parser.add_argument(
        "--kind",
        choices=("algorithm", "calibrator", "backbone", "source"),
        help="only entries of this kind",
    )
    parser.add_argument("--page", type=Path, help="write everything as a page of documentation")


def run(options: argparse.Namespace) -> int:
    """Name, kind, import path, knobs with defaults, source, and whose idea it is."""
    from mixcal.catalog import ENTRIES

    if options.page is not None:
        from mixcal.methods_page import methods_page

        try:
            options.page.write_text(methods_page())
        except OSError as error:
            raise BadInput(
                f"{options.page} cannot be written ({error}); name a file in a folder."
            ) from None
        return 0
    chosen = [e for e in ENTRIES if options.kind in (None, e.kind)]
    if options.json:
        records = [
            {
                "name": entry.name,
                "kind": entry.kind,
                "import": entry.target,
                "knobs": entry.knobs(),
                "source": entry.source(),
                "origin": entry.origin,
            }
            for entry in chosen
        ]
        print(json.dumps(records, indent=1, default=str))
        return 0
    for entry in chosen:
        knobs = ", ".join(f"{name}={value!r}" for name, value in entry.knobs().items())
        print(f"{entry.kind:11s} {entry.name:24s} {knobs}")
    return 0
