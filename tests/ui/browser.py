"""Headless Chromium as a person uses it: pages, clicks, what the console said, and a picture of each page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SHOTS = "AGRO_SCREENSHOTS"  # a folder that keeps the pictures; else pytest's own, which it clears
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60_000  # milliseconds


@dataclass
class Browser:
    """One tab. `errors` holds what the console reported as an error on any page that was opened."""

    page: Any
    base: str
    shots: Path
    errors: list[str] = field(default_factory=list)

    def open(self, path: str, shows: str) -> None:
        """Open a page and wait until it shows the text `shows`."""
        self.page.goto(self.base + path)
        self.sees(shows)

    def sees(self, text: str, seconds: float = PATIENCE / 1000) -> None:
        """Wait until the text is on the page and visible."""
        self.page.get_by_text(text, exact=False).locator("visible=true").first.wait_for(timeout=seconds * 1000)

    def text(self) -> str:
        return str(self.page.inner_text("body"))

    def click(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).first.click()

    def shoot(self, name: str, *, tall: bool = False) -> None:
        """Keep a picture of the page; `tall` in a window that is long enough for an asset with all its metadata."""
        if tall:
            self.page.set_viewport_size({"width": 1600, "height": 2600})
        self.page.wait_for_timeout(700)  # what fades in has faded in
        self.page.screenshot(path=self.shots / f"{name}.png")
        if tall:
            self.page.set_viewport_size({"width": 1600, "height": 1000})


@contextmanager
def browsing(base: str, folder: Path) -> Iterator[Browser]:
    """A browser at `base`. Skips where Playwright or a browser is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra `ui`: pip install -e '.[ui]'")
    shots = Path(os.environ.get(SHOTS) or folder / "screenshots")
    shots.mkdir(parents=True, exist_ok=True)
    with playwright.sync_playwright() as driver:
        found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
        if found is None and not Path(driver.chromium.executable_path).exists():
            pytest.skip(f"needs a browser: one of {', '.join(BROWSERS)}, or `playwright install chromium`")
        # Without a sandbox of its own: in containers Chromium may not make one, and it opens nothing but our pages.
        chromium = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1600, "height": 1000})
        page.set_default_timeout(PATIENCE)
        browser = Browser(page, base, shots)
        page.on("console", lambda said: browser.errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: browser.errors.append(str(error)))
        try:
            yield browser
        finally:
            chromium.close()
