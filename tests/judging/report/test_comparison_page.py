"""The comparison's page, as text and in a real browser, against the scoreboard it is made from."""

import re
from collections.abc import Iterator

import pytest

from mixcal.judging.comparison.groups import compared_groups, grouped
from mixcal.judging.comparison.runs import compared_runs
from mixcal.judging.comparison.written import figure
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.report.comparison_page import (
    ComparisonReport,
    comparison_page,
    sentence,
    views,
)
from mixcal.judging.samples import Samples
from tests.support.browser import browser, needs_browser, preferring, sized
from tests.support.contenders import contender, recipe_of
from tests.support.judged import made_pictures, made_predictions

METRICS = ("error", "ece", "nll", "brier")
MADE = {
    "over": made_predictions(500, temperature=0.5),
    "mild <b>": made_predictions(500, temperature=0.8, noise=0.3),
    "right": made_predictions(500, temperature=1.0, noise=0.1),
}
RUNS = [
    contender(name, predictions, recipe_of(algorithm, seed))
    for (name, predictions), algorithm, seed in zip(
        MADE.items(), ("fixmatch", "softmatch", "softmatch"), (1, 1, 2), strict=True
    )
]


@pytest.fixture(scope="module")
def report() -> ComparisonReport:
    groups = grouped(RUNS, ["method.algorithm.name"])
    return ComparisonReport(
        contenders=RUNS,
        board=compared_runs(RUNS, RUNS[0], METRICS, replicates=200),
        groups=compared_groups(groups, groups[0], METRICS, heads=["method.algorithm.name"]),
        look=lambda positions: made_pictures(500)[positions],
    )


@pytest.fixture(scope="module")
def text(report: ComparisonReport) -> str:
    return comparison_page(report)


def test_every_number_of_the_scoreboard_stands_in_the_table(
    report: ComparisonReport, text: str
) -> None:
    table = text[text.index('id="numbers"') :]
    table = table[: table.index("</table>")]
    for line in report.board.lines:
        for metric, cell in line.cells.items():
            assert figure(metric, cell.value) in table
            if cell.gap is not None:
                assert figure(metric, cell.gap.value, sign=True) in table
    marked = sum(
        cell.gap.differs
        for line in report.board.lines
        for cell in line.cells.values()
        if cell.gap is not None
    )
    assert 0 < marked < 8
    assert table.count('class="differs') == marked == table.count("\u00a0*")


def test_what_the_page_tells(text: str) -> None:
    head = text[: text.index('id="groups"')]
    assert "mild &lt;b&gt; and right against over" in head
    assert "<b>" not in text, "names are text"
    # With groups it is the groups that are told; one run and two have no common seeds.
    assert "<strong>softmatch</strong>: not to be told from it in error, ECE, NLL and" in head
    keys = text[text.index('class="keys"') :]
    assert "<code>method.algorithm.name</code></th><td>fixmatch</td><td>softmatch</td>" in keys
    assert "mean_confidence" not in text[text.index('class="meanings"') :][:4000]
    assert "1 runs" not in text


def test_a_run_is_told_in_a_sentence(report: ComparisonReport) -> None:
    name, said = sentence(report.board.lines[2], report.board)
    assert name == "right"
    assert re.search(r"better in ECE \(−\d+\.\d\d\u00a0points\), NLL \(−0\.\d{4}\)", said)
    assert said.endswith("; not to be told from it in error")


def test_many_runs_are_shown_two_at_a_time_first(report: ComparisonReport) -> None:
    assert [view["name"] for view in views(report)] == [
        "all",
        "over and mild <b>",
        "over and right",
    ]
    more = [*RUNS, *(contender(name, MADE["right"]) for name in ("x", "y"))]
    many = ComparisonReport(
        contenders=more, board=compared_runs(more, RUNS[2], ["error"], replicates=100)
    )
    found = views(many)
    assert [view["figures"] for view in found] == [[2, 0], [2, 1], [2, 3], [2, 4], [0, 1, 2, 3, 4]]
    two = ComparisonReport(
        contenders=RUNS[:2], board=compared_runs(RUNS[:2], RUNS[0], ["error"], replicates=100)
    )
    assert [view["figures"] for view in views(two)] == [[0, 1]]


def test_pages_stay_small(text: str) -> None:
    assert len(text.encode()) < 1_000_000


@pytest.fixture(scope="module")
def page(text: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """A browser that shows the page."""
    folder = tmp_path_factory.mktemp("page")
    path = folder / "comparison.html"
    path.write_text(text)
    with browser(folder / "profile") as driver:
        sized(driver, 1280)
        preferring(driver, "light")
        driver.get(path.as_uri())
        yield driver


def shown(page) -> list[float]:
    texts = page.execute_script(
        "return [...document.querySelectorAll('#diagrams [data-measure=ece]')]"
        ".map(o => o.textContent)"
    )
    return [float(text.removesuffix(" %")) / 100 for text in texts]


def expected(bins: int, *names: str) -> list[float]:
    found = []
    for name in names:
        samples = Samples.of(MADE[name])
        sums = Reliability.of_confidence(samples.confidence, samples.right, bins=bins)
        found.append(sums.expected_error())
    return found


@pytest.mark.browser
@needs_browser
def test_one_slider_moves_all_diagrams(page) -> None:
    assert shown(page) == pytest.approx(expected(15, *MADE), abs=5.01e-5)
    page.execute_script(
        "const s = document.getElementById('bins'); s.value = 9;"
        "s.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    assert shown(page) == pytest.approx(expected(9, *MADE), abs=5.01e-5)
    page.refresh()


@pytest.mark.browser
@needs_browser
def test_a_pair_can_be_chosen(page) -> None:
    from selenium.webdriver.support.select import Select

    Select(page.find_element("id", "view")).select_by_visible_text("over and right")
    assert shown(page) == pytest.approx(expected(15, "over", "right"), abs=5.01e-5)
    captions = page.find_elements("css selector", "#diagrams figcaption")
    assert [caption.text.splitlines()[0] for caption in captions] == ["over", "right"]
    page.refresh()


@pytest.mark.browser
@needs_browser
def test_bars_are_as_long_as_the_numbers(page, report: ComparisonReport) -> None:
    charts = page.find_elements("css selector", "#bars-figures svg")
    assert len(charts) == len(METRICS)
    for chart, metric in zip(charts, METRICS, strict=True):
        widths = page.execute_script(
            "return [...arguments[0].querySelectorAll('.metric-bar')]"
            ".map(b => Number(b.getAttribute('width')))",
            chart,
        )
        values = [line.cells[metric].value for line in report.board.lines]
        ratios = [value / values[0] for value in values]
        assert [width / widths[0] for width in widths] == pytest.approx(ratios, rel=1e-6)
        verdicts = page.execute_script(
            "return [...arguments[0].querySelectorAll('.gap-point')]"
            ".map(p => p.getAttribute('class').replace('gap-point', '').trim())",
            chart,
        )
        assert verdicts == [line.cells[metric].verdict(metric) for line in report.board.lines[1:]]
        assert "difference" in chart.get_attribute("aria-label")


@pytest.mark.browser
@needs_browser
def test_it_is_silent_and_alone_and_its_pictures_are_there(page) -> None:
    page.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.get_log("browser") == []
    assert page.execute_script(
        "return performance.getEntriesByType('resource')"
        ".filter(e => !e.name.startsWith('data:')).length === 0"
        " && document.images.length > 24 && [...document.images].every(i => i.alt)"
    )


@pytest.mark.browser
@needs_browser
def test_it_is_reached_by_keyboard(page) -> None:
    from selenium.webdriver import ActionChains, Keys

    page.refresh()
    reached = []
    while len(reached) < 30 and "bins" not in reached:
        ActionChains(page).send_keys(Keys.TAB).perform()
        reached.append(page.execute_script("return document.activeElement.id"))
    assert {"theme", "split", "view", "bins"} <= set(reached)
    ActionChains(page).send_keys(Keys.ARROW_RIGHT).perform()
    assert shown(page) == pytest.approx(expected(16, *MADE), abs=5.01e-5)


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_sticks_out_and_everything_can_be_read(page, width: int) -> None:
    sized(page, width, 844, phone=width < 500)
    page.refresh()
    page.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    sizes = page.execute_script(
        "return [...document.querySelectorAll('#bars-figures svg, #diagrams svg')].map("
        "s => parseFloat(getComputedStyle(s.querySelector('text')).fontSize)"
        " * s.getBoundingClientRect().width / s.viewBox.baseVal.width)"
    )
    assert min(sizes) >= 9.5


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colored_differences_stand_out_from_the_card(page, scheme: str) -> None:
    preferring(page, scheme)

    def brightness(script: str) -> float:
        color = page.execute_script(f"return {script}")
        return sum(map(int, re.findall(r"\d+", color)[:3])) / 3

    card = brightness("getComputedStyle(document.querySelector('section')).backgroundColor")
    ink = brightness("getComputedStyle(document.querySelector('.differs')).color")
    assert abs(card - ink) > 80
