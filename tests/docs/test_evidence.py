"""The committed pages of docs/evidence against what their rows give when made anew."""

from pathlib import Path

import pytest

from mixcal.study_pages import BEGIN, END, pages, regenerated

ROOT = Path(__file__).parent.parent.parent
EVIDENCE = ROOT / "docs" / "evidence"
PAGES = pages(EVIDENCE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tables_are_what_the_rows_say(page: Path) -> None:
    made = regenerated(page, studies=ROOT / "studies", rows=EVIDENCE / "rows")
    assert made == page.read_text(), "run `mixcal study --tables`"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if EVIDENCE in page.parents], ids=lambda page: page.stem
)
def test_no_table_is_written_by_hand(page: Path) -> None:
    inside = False
    for line in page.read_text().splitlines():
        inside = (inside or BEGIN.match(line) is not None) and line != END
        assert inside or not line.startswith("|"), line
