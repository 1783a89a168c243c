"""`mixcal study`: a grid of recipes and seeds, resumable, and its tables."""

import argparse
import sys
from pathlib import Path

from mixcal.commands.places import recipe_folder

EVIDENCE = Path("docs") / "evidence"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The study, how many runs at once, and what to do with the tables."""
    parser.add_argument("study", type=Path, nargs="?", help="the study's TOML file")
    parser.add_argument("--processes", type=int, default=1, help="runs side by side (default 1)")
    parser.add_argument("--into", type=Path, help="run folders go here (runs/studies/NAME)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only runs whose name holds it")
    parser.add_argument("--table", action="store_true", help="print the table, run nothing")
    parser.add_argument(
        "--tables",
        action="store_true",
        help="write all tables of docs/evidence, and of pages beside it, anew from the rows there",
    )


def run(options: argparse.Namespace) -> int:
    """Run what is missing, then print the table; 1 if a run failed."""
    from mixcal.core.errors import BadInput
    from mixcal.study import read_study, run_study
    from mixcal.study_table import missing, table

    if options.tables:
        return write_tables(EVIDENCE, studies=Path("studies"))
    if options.processes < 1:
        raise BadInput(f"--processes is {options.processes}; it must be at least 1.")
    if options.study is None:
        raise BadInput("Name a study (studies/hosts.toml), or give --tables.")
    failed: list[str] = []
    if not options.table:
        into = options.into or Path("runs") / "studies" / options.study.stem
        failed = run_study(
            options.study,
            processes=options.processes,
            into=into,
            search=[recipe_folder()],
            only=options.only,
        )
    study = read_study(options.study)
    print(table(study), end="")
    if waiting := missing(study):
        print(f"{len(waiting)} runs are missing", file=sys.stderr)
    if failed:
        print(f"mixcal: {len(failed)} runs failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def write_tables(folder: Path, *, studies: Path) -> int:
    """Every page with tables, made anew; says which ones changed."""
    from mixcal.core.errors import BadInput
    from mixcal.study_pages import pages, regenerated

    if not folder.is_dir():
        raise BadInput(f"There is no folder {folder} here; run this where the repository begins.")
    made = {
        page: regenerated(page, studies=studies, rows=folder / "rows") for page in pages(folder)
    }
    for page, text in made.items():
        if text != page.read_text():
            page.write_text(text)
            print(page)
    return 0
