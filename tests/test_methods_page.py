"""The committed index of methods against the page made anew, and what every entry's docstring must
hold for it: a source, a formula, and what it takes from that source."""

import re
from pathlib import Path

import pytest

from mixcal.catalog import ENTRIES, Entry
from mixcal.cli import main
from mixcal.methods_page import hosts_of, methods_page, text_of

PAGE = Path(__file__).parent.parent / "docs" / "methods.md"
METHODS = [entry for entry in ENTRIES if entry.kind in ("algorithm", "calibrator")]


def test_the_committed_page_is_what_the_catalog_says() -> None:
    assert PAGE.read_text() == methods_page(), "run `mixcal methods --page docs/methods.md`"


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["methods", "--page", str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text() == methods_page()
    assert main(["methods", "--page", str(tmp_path / "none" / "page.md")]) == 2
    assert "name a file in a folder" in capsys.readouterr().err


@pytest.mark.parametrize("entry", METHODS, ids=lambda entry: entry.name)
def test_every_method_says_where_it_comes_from(entry: Entry) -> None:
    text = text_of(entry)
    assert re.search(r"arXiv:\d{4}\.\d{5}|no preprint", text.source), text.source
    if entry.origin == "paper":
        assert text.against_source, "say “As in the paper.” or what differs"
        # What a recipe of words says better than a formula.
        assert text.formulas or entry.name == "random-mixup"


def test_hosts_are_found_by_trying() -> None:
    known = {entry.name: entry for entry in METHODS}
    assert hosts_of(known["mixup"]) == "supervised, joint, separate"
    assert hosts_of(known["csm"]).startswith("not as it comes on supervised, joint, separate: csm")
