"""A real headless Chromium, and what it says on its console."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

needs_browser = pytest.mark.skipif(
    BROWSER is None or DRIVER is None, reason="chromium and chromedriver are not installed"
)


@contextmanager
def browser(profile: Path) -> Iterator:
    """A browser with a fresh profile in this folder; closed at the end."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def sized(driver, width: int, height: int = 900, *, phone: bool = False) -> None:
    """Give the page this many pixels."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def preferring(driver, scheme: str) -> None:
    """Make the system light or dark."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
