"""The page in a real browser against the numbers computed in Python."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mixcal.core.margins import Margins
from mixcal.judging.metrics.equal_mass import adaptive_error
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.report.judged import Judged
from mixcal.judging.report.run_page import RunReport, run_page
from mixcal.judging.samples import Samples
from tests.support.browser import browser, needs_browser, preferring, sized
from tests.support.judged import made_pictures, made_predictions

pytestmark = [pytest.mark.browser, needs_browser]

TEST = made_predictions(700, temperature=0.6)
AFTER = made_predictions(700, temperature=1.0)
VALIDATION = made_predictions(300, temperature=0.6, seed=1, split="validation")
LOG = [
    {"step": 10 * i, "loss_labeled": 1 / i, "labeled_error": 0.5 / i, "impurity_kept": 0.2 / i}
    for i in range(1, 9)
]
MARGINS = Margins(
    ids=np.arange(6),
    split=np.array(["labeled"] * 6),
    label=np.arange(6) % 5,
    margin=np.linspace(-1, 1, 6),
    visits=np.ones(6, dtype=np.int64),
    classes=TEST.classes,
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """A browser that shows a run's page, with all that a page can hold."""
    folder = tmp_path_factory.mktemp("page")
    looks = dict.fromkeys(("test", "labeled"), lambda at: made_pictures(len(at), size=40))
    report = RunReport(
        title="a run",
        judged=[
            Judged.of(TEST, name="averaged, last"),
            Judged.of(AFTER, name="averaged, last", rescaler="temperature"),
            Judged.of(VALIDATION, name="averaged, last"),
        ],
        facts={"seed": "0"},
        remarks=["A remark."],
        log=LOG,
        margins=MARGINS,
        looks=looks,
        recipe="[method]\nseed = 0\n",
        environment={"python": "3", "cuda": None},
    )
    path = folder / "report.html"
    path.write_text(run_page(report))
    with browser(folder / "profile") as driver:
        driver.get(path.as_uri())
        yield driver


@pytest.fixture(autouse=True)
def _as_opened(page) -> None:
    """Every test begins with the page as a person opens it, on a desk."""
    sized(page, 1280)
    preferring(page, "light")
    page.refresh()


def shown(page) -> list[float]:
    """The ECE under each diagram, as text."""
    texts = page.execute_script(
        "return [...document.querySelectorAll('#diagrams [data-measure=ece]')]"
        ".map(o => o.textContent)"
    )
    return [float(re.fullmatch(r"(\d+\.\d\d) %", text).group(1)) / 100 for text in texts]


def expected(predictions, bins: int) -> float:
    samples = Samples.of(predictions)
    return Reliability.of_confidence(samples.confidence, samples.right, bins=bins).expected_error()


def set_bins(page, bins: int) -> None:
    page.execute_script(
        "const s = document.getElementById('bins'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('input', {bubbles: true}))",
        bins,
    )


def bars(page) -> int:
    return page.execute_script("return document.querySelectorAll('#diagrams svg .accuracy').length")


def press(page, *keys) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(page).send_keys(*keys).perform()


def test_the_console_stays_silent(page) -> None:
    for radio in page.find_elements("css selector", "input[name=binning]"):
        radio.click()
    page.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.get_log("browser") == []


@pytest.mark.parametrize("bins", [2, 10, 15, 23, 30])
def test_the_slider_changes_the_diagram_and_the_ece_is_right(page, bins: int) -> None:
    set_bins(page, bins)
    assert shown(page) == pytest.approx([expected(TEST, bins), expected(AFTER, bins)], abs=5.01e-5)
    held = sum(np.count_nonzero(_held(one, bins)) for one in (TEST, AFTER))
    assert bars(page) == held
    assert page.find_element("id", "bins-shown").text == str(bins)


def _held(predictions, bins: int) -> np.ndarray:
    samples = Samples.of(predictions)
    return Reliability.of_confidence(samples.confidence, samples.right, bins=bins).counts


def test_bars_are_as_high_as_the_accuracy(page) -> None:
    set_bins(page, 10)
    samples = Samples.of(TEST)
    sums = Reliability.of_confidence(samples.confidence, samples.right, bins=10)
    heights = page.execute_script(
        "return [...document.querySelector('#diagrams svg').querySelectorAll('.accuracy')]"
        ".map(b => Number(b.getAttribute('height')))"
    )
    whole = 332  # pixels from 0 to 1
    assert heights == pytest.approx((sums.accuracies[sums.counts > 0] * whole).tolist(), abs=1e-3)


def test_equal_mass_and_smooth(page) -> None:
    radios = page.find_elements("css selector", "input[name=binning]")
    radios[1].click()
    samples = Samples.of(TEST)
    adaptive = adaptive_error(samples.confidence, samples.right)
    assert shown(page)[0] == pytest.approx(adaptive, abs=5.01e-5)
    radios[2].click()
    smooth = Judged.of(TEST, name="").value("smooth_ece")
    assert shown(page)[0] == pytest.approx(smooth, abs=5.01e-5)
    assert not page.find_element("id", "bins").is_enabled()


def test_the_split_selector_changes_everything(page) -> None:
    from selenium.webdriver.support.select import Select

    before = page.find_element("css selector", "#confusion table").text
    Select(page.find_element("id", "split")).select_by_visible_text("validation")
    assert shown(page) == pytest.approx([expected(VALIDATION, 15)], abs=5.01e-5)
    assert page.find_element("css selector", "#confusion table").text != before


def test_everything_can_be_reached_and_moved_by_keyboard(page) -> None:
    from selenium.webdriver import Keys

    reached = []
    for _ in range(60):
        press(page, Keys.TAB)
        reached.append(
            page.execute_script(
                "const e = document.activeElement; return e.id || e.className || e.tagName"
            )
        )
        if reached[-1] == "bins":
            break
    assert {"skip", "theme", "split", "view"} <= set(reached)
    assert reached[-1] == "bins"
    press(page, Keys.ARROW_RIGHT)
    assert page.find_element("id", "bins-shown").text == "16"
    assert shown(page)[0] == pytest.approx(expected(TEST, 16), abs=5.01e-5)
    # The next stop is the first diagram, whose bins the arrow keys walk through.
    press(page, Keys.TAB)
    first = page.find_element("css selector", "#diagrams .bin-readout")
    counts = _held(TEST, 16)
    assert f"{counts[-1]} samples claim" in first.text
    press(page, Keys.ARROW_LEFT)
    assert f"{counts[-2]} samples claim" in first.text
    press(page, Keys.HOME)
    assert f": {counts[counts > 0][0]} sample" in first.text


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_sticks_out_on_any_screen(page, width: int) -> None:
    sized(page, width, 844, phone=width < 500)
    page.refresh()
    page.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    # Readable without zooming in, in pixels as drawn.
    sizes = page.execute_script(
        "return [...document.querySelectorAll('#diagrams svg')].map("
        "s => parseFloat(getComputedStyle(s.querySelector('text')).fontSize)"
        " * s.getBoundingClientRect().width / s.viewBox.baseVal.width)"
    )
    assert min(sizes) >= 9.5


def test_light_and_dark_follow_the_system_and_the_button(page) -> None:
    def background() -> str:
        return page.execute_script("return getComputedStyle(document.body).backgroundColor")

    light = background()
    preferring(page, "dark")
    dark = background()
    assert sum(map(int, re.findall(r"\d+", light)[:3])) > 600
    assert sum(map(int, re.findall(r"\d+", dark)[:3])) < 150
    page.find_element("id", "theme").click()
    assert background() == light
    page.find_element("id", "theme").click()
    assert background() == dark


def test_pictures_are_there_and_have_words(page) -> None:
    broken = page.execute_script(
        "return [...document.images].filter(i => { i.loading = 'eager'; return !i.alt; }).length"
    )
    assert broken == 0
    assert page.execute_script("return document.images.length") == 24 + 24 + 6
    assert page.execute_async_script(
        "const done = arguments[0];"
        "Promise.all([...document.images].map(i => i.decode()))"
        ".then(() => done(true), () => done(false))"
    )


def test_it_works_without_any_other_file(page) -> None:
    entries = page.execute_script(
        "return performance.getEntriesByType('resource').map(e => e.name)"
        ".filter(n => !n.startsWith('data:'))"
    )
    assert entries == []
    assert Path(page.current_url.removeprefix("file://")).name == "report.html"
