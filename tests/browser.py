"""A browser that shows pages to tests."""

import pathlib
import shutil
import subprocess

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--allow-file-access-from-files",
]


def browse(folder: pathlib.Path, *arguments: str) -> str:
    """Returns what the browser prints; a test is skipped where there is none.

    Args:
        folder: The place for the browser's profile.
        arguments: Its other arguments, as `--dump-dom` and the page's address.
    """
    if BROWSER is None:
        pytest.skip(
            "no browser: neither chromium nor google-chrome is on the path (apt-get install chromium)"
        )
    try:
        done = _run(BROWSER, folder / "profile", arguments, timeout=20)
    except (
        subprocess.TimeoutExpired
    ):  # a headless chromium hangs at its start now and then, without using a CPU
        done = _run(BROWSER, folder / "another", arguments, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _run(
    browser: str, profile: pathlib.Path, arguments: tuple[str, ...], timeout: int
) -> subprocess.CompletedProcess[str]:
    command = [browser, *OPTIONS, f"--user-data-dir={profile}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
