"""Every command and every Python example of README.md and docs/ against what they promise: to run.

A page's ```sh blocks are run line by line in a folder that has what a reader of the page has by
then: a trained run, pictures of their own, prediction files. Training is cut to a few steps. What
cannot be run here (network, installation, hours) is at least a command that mixcal understands.
A page's ```python blocks are run one after the other, in one namespace; those of the page on adding
a method are files, and have a test of their own.
"""

import re
import shlex
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mixcal.cli import VERBS, main, parser_for
from mixcal.commands.places import recipe_folder
from mixcal.recipe import read_recipe
from tests.support.command import QUICK
from tests.support.docs_folder import filled

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What a line may begin with, if it is not run; mixcal's own are parsed all the same.
NOT_RUN = {
    "make": "set-up and tests have their own tests",
    "pip": "installs",
    "python": "scripts of hours and of other people's tools",
    "git": "needs a remote",
    "cd": "moves",
    "source": "changes the shell",
    ".venv/bin/pip": "installs",
    ".venv/bin/python": "as python",
    "torchrun": "several processes",
    "mixcal data fetch": "needs the network",
    "mixcal study": "takes hours",
    "mixcal synthesize": "takes hours; tests/synthesis runs it small",
}


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of one language, in order."""
    return [text for found, text in FENCE.findall(page.read_text()) if found == language]


def lines(text: str) -> Iterator[str]:
    """The commands of a block: no comments, continued lines joined."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()


def commands(page: Path) -> list[str]:
    return [line for text in blocks(page, "sh") for line in lines(text)]


@pytest.fixture(scope="session")
def _reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("reader"))


@pytest.fixture
def reader(_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what a reader has, as the current folder; nothing of the page before is in it."""
    folder = tmp_path / "reader"
    shutil.copytree(_reader, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    return folder


def run(line: str) -> None:
    """Run a line, or see at least that mixcal understands it."""
    words = shlex.split(line, comments=True)
    for redirection in (">", "|"):
        if redirection in words:
            words = words[: words.index(redirection)]
    start = next((known for known in NOT_RUN if f"{line} ".startswith(f"{known} ")), None)
    if words[0] not in ("mixcal", ".venv/bin/mixcal"):
        assert start is not None, f"{line!r} is neither run nor known as not to be run"
        return
    options = parser_for(words[1:])[0].parse_args(words[1:])
    if words[1] == "train" and not options.resume:
        # Recipes of published sets need data that a reader has fetched; here they are only read.
        if options.recipe not in (None, "digits"):
            read_recipe(Path(options.recipe), options.settings, search=[recipe_folder()])
            return
        words += QUICK
    if start is None:
        assert main(words[1:]) == 0, line


PAGES_WITH_COMMANDS = [page for page in PAGES if commands(page)]
PAGES_WITH_PYTHON = [
    page for page in PAGES if blocks(page, "python") and page.stem != "adding-a-method"
]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=named)
def test_commands_run(page: Path, reader: Path, capsys: pytest.CaptureFixture) -> None:
    for line in commands(page):
        run(line)
    capsys.readouterr()


@pytest.mark.parametrize("page", PAGES_WITH_PYTHON, ids=named)
def test_python_runs(page: Path, reader: Path, capsys: pytest.CaptureFixture) -> None:
    names: dict[str, object] = {"__name__": page.stem, "np": np}
    for place, text in enumerate(blocks(page, "python")):
        exec(compile(text, f"{named(page)}, Python block {place + 1}", "exec"), names)
    capsys.readouterr()


def test_every_verb_is_in_the_readme_or_a_page() -> None:
    written = " ".join(line for page in PAGES for line in commands(page))
    missing = [verb for verb, *_ in VERBS if f"mixcal {verb}" not in written]
    assert not missing
