"""Finds a Chromium for the browser tests, and gets one where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ENVIRONMENT = "STRATA_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


class NoBrowser(RuntimeError):
    """No Chromium was found and none could be installed."""


def find() -> str | None:
    """Return the path of a Chromium: the one that STRATA_CHROMIUM names, Playwright's own, or one on the PATH."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return named if Path(named).exists() else None
    own = _playwright_path()
    if own is not None:
        return own
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def _playwright_path() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def ensure() -> str:
    """Return the path of a Chromium, installing one if need be.

    Raises
    ------
    NoBrowser
        If neither Playwright nor the distribution could provide one; the message says what was tried.
    """
    found = find()
    if found is not None:
        return found
    tried = []
    for command in _installers():
        print("no Chromium found; trying:", " ".join(command), flush=True)
        result = subprocess.run(command, capture_output=True, text=True, timeout=900)
        found = find()
        if result.returncode == 0 and found is not None:
            return found
        tried.append(f"  {' '.join(command)}: {(result.stderr or result.stdout).strip()[-300:] or 'no output'}")
    raise NoBrowser(
        "the browser tests need a Chromium, and none could be had.\n"
        f"Install one and put it on the PATH, or name it in {ENVIRONMENT}.  Tried:\n" + "\n".join(tried)
    )


def _installers() -> list[list[str]]:
    commands = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if shutil.which("apt-get"):
        sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
        script = "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium"
        commands.append([*sudo, "sh", "-c", script])
    return commands
