"""A run's page against the promises about it: size, self-containment, escaping, sentences."""

import json
import re

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.judging.report.judged import Judged
from mixcal.judging.report.run_page import RunReport, headline, run_page
from mixcal.judging.report.wording import afterwards, explained, number, verdict
from tests.support.judged import made_predictions

MEGABYTE = 1_000_000


USUAL = [Judged.of(made_predictions(), name="averaged, last")]


def report(**more) -> RunReport:
    judged = USUAL
    return RunReport(**({"title": "a run", "judged": judged} | more))


def data_of(page: str) -> dict:
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert text is not None
    return json.loads(text.group(1))


def test_ten_thousand_predictions_with_pictures_stay_under_two_megabytes() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (48, 3, 96, 96), dtype=np.uint8)
    predictions = [
        made_predictions(10_000, classes=10, temperature=t, seed=seed)
        for seed in (0, 1)
        for t in (0.5, 1.0)
    ]
    judged = [
        Judged.of(one, name=f"network {i // 2}", rescaler="temperature" if i % 2 else "")
        for i, one in enumerate(predictions)
    ]
    page = run_page(report(judged=judged, looks={"test": lambda at: noise[: len(at)]}))
    # Noise is the worst there is to compress.
    assert 0.3 * MEGABYTE < len(page.encode()) < 2 * MEGABYTE


def test_the_page_names_no_address_but_its_own() -> None:
    page = run_page(report())
    assert "default-src 'none'" in page
    for name in ("src", "href"):
        for target in re.findall(rf'\b{name}="([^"]*)"', page):
            assert target.startswith(("data:", "#")), target
    assert "@import" not in page
    addresses = set(re.findall(r"https?://[^\s\"'`]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a namespace


def test_names_cannot_break_out_of_the_page() -> None:
    evil = "</script><script>alert(1)</script>"
    judged = [Judged.of(made_predictions(60), name=evil)]
    page = run_page(report(judged=judged, title=evil, recipe=evil, environment={evil: evil}))
    assert evil not in page
    assert data_of(page)["views"][0]["name"] == evil


def test_the_slider_has_a_name_to_be_read_aloud() -> None:
    # A label that holds an output and an input labels the first of them unless it says otherwise.
    page = run_page(report(judged=[Judged.of(made_predictions(60), name="one")]))
    assert '<label class="slider" for="bins">' in page


def test_before_and_after_are_shown_together() -> None:
    judged = [
        Judged.of(made_predictions(temperature=0.5), name="averaged, last"),
        Judged.of(made_predictions(temperature=1.0), name="averaged, last", rescaler="temperature"),
        Judged.of(made_predictions(split="validation"), name="averaged, last"),
    ]
    page = run_page(report(judged=judged))
    views = data_of(page)["views"]
    assert [(view["split"], len(view["figures"])) for view in views] == [
        ("test", 2),
        ("validation", 1),
    ]
    assert [f["caption"] for f in views[0]["figures"]] == ["as predicted", "after temperature"]
    assert "Overconfident" in page
    assert afterwards(judged[1]) in page


def test_infinite_and_undefined_numbers_can_be_shown() -> None:
    predictions = made_predictions(40, classes=2)
    sure = np.eye(2)[predictions.scores.argmax(1)]
    made = Judged.of(type(predictions).of(predictions.labels, probs=sure), name="sure")
    assert made.value("nll") == np.inf
    page = run_page(report(judged=[made]))
    assert "∞" in page
    data_of(page)


def test_every_number_has_a_sentence() -> None:
    rows = explained(report().judged[0].summary)
    assert len(rows) >= 21
    assert all(row["meaning"] and row["method"] for row in rows)


@pytest.mark.parametrize(
    ("temperature", "kind"), [(0.4, "over"), (1.0, "calibrated"), (3.0, "under")]
)
def test_the_verdict_says_what_is_wrong(temperature: float, kind: str) -> None:
    judged = Judged.of(made_predictions(3000, temperature=temperature, seed=3), name="")
    assert verdict(judged)["kind"] == kind


def test_numbers_as_written() -> None:
    assert number("ece", 0.12345) == "12.35\u00a0%"
    assert number("nll", 0.5) == "0.5000"
    assert number("nll", float("inf")) == "∞"
    assert number("confidence_auroc", float("nan")) == "–"


def test_a_page_of_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="no predictions"):
        report(judged=[])


def test_a_rescaled_row_below_its_network_is_called_after_its_rescaler() -> None:
    plain = Judged.of(made_predictions(), name="averaged, last")
    after = Judged.of(made_predictions(), name="averaged, last", rescaler="temperature")
    titles = [row["title"] for row in headline([plain, after])]
    assert titles == ["averaged, last", "after temperature"]
    assert [row["title"] for row in headline([after])] == ["averaged, last + temperature"]
