"""A page in headless Chromium, driven over the DevTools protocol through a pipe."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--disable-gpu",
    "--no-first-run",
    "--disable-extensions",
    "--mute-audio",
    "--window-size=1400,900",
)
SECONDS = 30.0  # that one answer may take


def find_chromium() -> str | None:
    """The browser of this machine."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass(slots=True, eq=False)
class Browser:
    """Chromium: `send` waits for the answer, and keeps the events that come before it."""

    reading: int
    writing: int
    events: list[Json] = field(default_factory=list[Json])
    _waiting: bytes = b""
    _number: int = 0

    def send(self, method: str, session: str | None = None, **parameters: object) -> Json:
        """Ask, and give the result."""
        self._number += 1
        message: Json = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self.writing, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def _receive(self, deadline: float) -> Json:
        while b"\0" not in self._waiting:
            ready, _, _ = select.select([self.reading], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"Chromium did not answer within {SECONDS} s"
            data = os.read(self.reading, 1 << 20)
            assert data, "Chromium has ended"
            self._waiting += data
        text, _, self._waiting = self._waiting.partition(b"\0")
        return json.loads(text)


@contextmanager
def chromium(program: str, profile: Path) -> Generator[Browser]:
    """A running browser; it reads from file descriptor 3 and writes to 4."""
    (commands, to_browser), (from_browser, answers) = os.pipe(), os.pipe()
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else []), f"--user-data-dir={profile}"]
    shell = f'exec "$@" 3<&{commands} 4>&{answers}'
    process = subprocess.Popen(
        ["bash", "-c", shell, "bash", program, *flags, "--remote-debugging-pipe", "about:blank"],
        pass_fds=(commands, answers),
        stderr=subprocess.DEVNULL,
    )
    os.close(commands)
    os.close(answers)
    browser = Browser(from_browser, to_browser)
    try:
        yield browser
        browser.send("Browser.close")
        process.wait(SECONDS)
    finally:
        process.kill()
        process.wait()
        os.close(from_browser)
        os.close(to_browser)


@dataclass(slots=True, eq=False)
class Page:
    """One tab."""

    browser: Browser
    session: str
    target: str

    def send(self, method: str, **parameters: object) -> Json:
        """Ask this tab."""
        return self.browser.send(method, self.session, **parameters)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression, which may be a promise."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]["exception"]["description"]
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        """Press and release the mouse in the middle of an element that is in view."""
        self.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'nearest'}})")
        box = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        x, y = self.run(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({box})")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def press(self, key: str) -> None:
        """Press a key where the focus is."""
        text = key if len(key) == 1 else ""
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def go(self, fragment: str) -> None:
        """Show another view."""
        self.run(f"void (location.hash = {json.dumps(fragment)})")
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")

    def set_size(self, name: str, value: int) -> None:
        """Type the value of a size."""
        field = f"document.getElementById({json.dumps(f'size-{name}')})"
        self.run(f"((f) => {{ f.value = {value}; f.dispatchEvent(new Event('input')); }})({field})")

    def text(self, selector: str) -> str:
        """What an element says."""
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def count(self, selector: str) -> int:
        """How many elements there are."""
        return self.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def seen(self, method: str) -> list[Json]:
        """The events of this tab so far."""
        self.run("0")
        mine = [e for e in self.browser.events if e.get("sessionId") == self.session and e["method"] == method]
        return [event["params"] for event in mine]


READY = "performance.getEntriesByName('ready').length"


def open_tab(browser: Browser) -> Page:
    """An empty tab."""
    target = browser.send("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
    session = browser.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    page = Page(browser, session, target)
    for domain in ("Page", "Runtime", "Log", "Network"):
        page.send(f"{domain}.enable")
    return page


def load(page: Page, path: Path, ready: str) -> None:
    """Load a file in a tab, and wait until an expression holds there."""
    page.send("Page.navigate", url=path.as_uri())
    deadline = time.monotonic() + SECONDS
    while not page.run(ready):
        assert time.monotonic() < deadline, "the page does not get ready"
    page.settle()


def open_page(browser: Browser, path: Path, ready: str = READY) -> Page:
    """Load a report in a tab of its own, and wait until it is ready."""
    page = open_tab(browser)
    load(page, path, ready)
    return page
