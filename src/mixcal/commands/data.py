"""`mixcal data list | fetch NAME | check NAME-or-PATH`: published sets and one's own."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mixcal.core.errors import BadInput
from mixcal.data.published import SETS, Download, PublishedSet, published
from mixcal.data.reading import data_folder

if TYPE_CHECKING:
    from mixcal.data.check import Duplicate, Report

MOST_CLASSES = 20
MOST_NAMED = 5
# STL-10 unpacks to 3.1 GB; nothing that is unpacked here is larger.
MOST_UNPACKED = 4 << 30


def add_options(parser: argparse.ArgumentParser) -> None:
    """What to do with which data."""
    verbs = parser.add_subparsers(dest="verb", metavar="list | fetch | check", required=True)
    listing = verbs.add_parser("list", help="the published sets, and which of them are here")
    fetching = verbs.add_parser("fetch", help="download a published set and check its hash")
    fetching.add_argument("name", help="a set's name, as `mixcal data list` has it")
    fetching.add_argument(
        "--mirror", metavar="URL", default="", help="take the files from below this address"
    )
    fetching.add_argument(
        "--variant", default="", help='more of the set: "extra" for the extra part of svhn'
    )
    checking = verbs.add_parser(
        "check", help="counts, shapes, class balance, unreadable and duplicate images"
    )
    checking.add_argument("data", metavar="NAME-or-PATH")
    checking.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="as for training, for example --set method.data.image_size=128",
    )
    checking.add_argument("--json", action="store_true", help="print JSON")
    checking.add_argument("--strict", action="store_true", help="an unreadable image is an error")
    for sub in (listing, fetching, checking):
        sub.add_argument("--folder", default="", help="the data folder ($MIXCAL_DATA)")


def run(options: argparse.Namespace) -> int:
    """Do it."""
    if options.verb == "list":
        _list(data_folder(options.folder))
    elif options.verb == "fetch":
        _fetch(options)
    else:
        _check(options)
    return 0


def _list(folder: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"data folder: {folder}", title_justify="left")
    for column in ("name", "here", "what", "terms"):
        table.add_column(column)
    for entry in SETS:
        table.add_row(entry.name, _here(entry, folder), entry.what, entry.terms)
    table.add_row("folder, manifest, npz", "", "your own: see `mixcal train --data PATH`", "yours")
    Console().print(table)


def _here(entry: PublishedSet, folder: Path) -> str:
    if entry.name == "digits" or (folder / f"{entry.name}.npz").is_file():
        return "yes"
    if any((folder / mark).exists() for mark in entry.marks):
        return "yes"
    below = folder / entry.name
    return "yes" if below.is_dir() and any(below.iterdir()) else "no"


def _fetch(options: argparse.Namespace) -> None:
    from mixcal.commands.progress import transfer_bar
    from mixcal.data.archives import unpack
    from mixcal.data.fetch import fetch

    entry = published(options.name)
    if entry is None:
        names = ", ".join(known.name for known in SETS)
        raise BadInput(f"There is no published set {options.name!r} to fetch; known: {names}.")
    if not entry.downloads:
        raise BadInput(f"{entry.name} is not fetched. {entry.how}")
    folder = data_folder(options.folder) / entry.name
    print(f"{entry.name}: {entry.what}; terms: {entry.terms}.")
    for download in _wanted(entry, options.variant, options.mirror):
        with transfer_bar(download.file) as bar:
            found = fetch(download, folder, progress=bar.show)
        state = "was there" if found.was_there else "fetched"
        print(f"{found.path}: {state}; checked: {found.checked_by}.")
        if download.file in entry.unpacked:
            unpack(found.path, folder, most_bytes=MOST_UNPACKED)
            print(f"{found.path}: unpacked beside it.")
    print(f"`mixcal data check {entry.name}` looks at the images.")


def _wanted(entry: PublishedSet, variant: str, mirror: str) -> list[Download]:
    extra = dict(entry.extra)
    if variant and variant not in extra:
        known = ", ".join(extra) or "none"
        raise BadInput(f"{entry.name} has no variant {variant!r} to fetch; it has: {known}.")
    downloads = [*entry.downloads, *([extra[variant]] if variant else [])]
    if mirror:
        base = mirror.rstrip("/")
        downloads = [replace(one, addresses=(f"{base}/{one.file}",)) for one in downloads]
    return downloads


def _check(options: argparse.Namespace) -> None:
    from mixcal.build import open_source
    from mixcal.commands.own_data import own_data
    from mixcal.commands.progress import count_bar
    from mixcal.data.check import check
    from mixcal.recipe import read_recipe

    settings = ["method.steps=1", *options.settings]
    if published(options.data) is not None:
        settings.append(f'method.data.source="{options.data}"')
    else:
        settings += own_data(options.data, asked=f"mixcal data check {options.data}")
    if options.folder:
        settings.append(f"running.data_folder={options.folder}")
    if options.strict:
        settings.append("running.strict=true")
    recipe = read_recipe(None, settings)
    source = open_source(recipe.method, recipe.running)
    if source.kind != "image":
        raise BadInput(f"{source.name} holds texts, and `mixcal data check` looks at images.")
    with count_bar("looking at the images") as bar:
        report = check(source, progress=bar.show)
    if options.json:
        print(json.dumps(report.to_json(), indent=1))
    else:
        _print(report)


def _print(report: "Report") -> None:
    from rich.console import Console

    console = Console()
    channels, height, width = report.shape
    console.print(
        f"{report.name}: {len(report.classes)} classes, images of {height} x {width} pixels, "
        f"{channels} channel{'s' if channels > 1 else ''}",
        highlight=False,
    )
    values = [", ".join(f"{v:.4f}" for v in side) for side in (report.mean, report.std)]
    console.print(f"mean {values[0]}; standard deviation {values[1]}", highlight=False)
    _print_counts(report)
    for kind, found in (("within", report.within), ("across", report.across)):
        for splits, duplicates in found.items():
            _print_duplicates(kind, splits, duplicates)
    if not report.within and not report.across:
        console.print("no two images are equal", highlight=False)
    for remark in (*report.unreadable[:MOST_NAMED], *report.remarks):
        console.print(remark, highlight=False, markup=False)


def _print_counts(report: "Report") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    table.add_column("class")
    for split in report.images:
        table.add_column(split, justify="right")
    rows = list(range(len(report.classes)))
    if len(rows) > MOST_CLASSES:
        # The rarest and the most frequent tell the balance.
        rows = sorted(rows, key=lambda k: report.counts["train"][k])
        rows = [*rows[: MOST_CLASSES // 2], *rows[-MOST_CLASSES // 2 :]]
        table.title = f"the {MOST_CLASSES // 2} rarest and the most frequent classes"
    for k in rows:
        table.add_row(report.classes[k], *(f"{counts[k]:,}" for counts in report.counts.values()))
    table.add_section()
    others = [""] * (len(report.images) - 1)
    if report.unlabeled:
        table.add_row("unlabeled", f"{report.unlabeled:,}", *others)
    table.add_row("all", *(f"{count:,}" for count in report.images.values()))
    Console().print(table)


def _print_duplicates(kind: str, splits: str, duplicates: "tuple[Duplicate, ...]") -> None:
    images = sum(len(found.images) for found in duplicates)
    wrong = sum(found.contradictory for found in duplicates)
    also = f"; {wrong:,} of them have different labels" if wrong else ""
    print(f"{len(duplicates):,} contents are there {images:,} times {kind} {splits}{also}:")
    for found in sorted(duplicates, key=lambda one: not one.contradictory)[:MOST_NAMED]:
        named = (
            f"{image} ({label or 'unlabeled'})"
            for image, label in zip(found.images, found.labels, strict=True)
        )
        print("  " + " = ".join(named))
