"""Makes a release: `python .ci/release.py 0.2.0` writes the version and CHANGELOG's section, commits, tags.

Pushing the tag starts `.github/workflows/release.yml`, which builds, checks and publishes it.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHANGELOG, VERSION = ROOT / "CHANGELOG.md", ROOT / "morph" / "__init__.py"
UNRELEASED = "## [Unreleased]\n"
ASSIGNED = re.compile(r'^__version__ = "(.*)"$', re.MULTILINE)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description="Make a release: its version, its section in CHANGELOG.md, its tag."
    )
    parser.add_argument("version", nargs="?", help="the new version, 0.2.0; the tag is v0.2.0")
    parser.add_argument(
        "--note", action="store_true", help="only print what CHANGELOG.md says of this version"
    )
    options = parser.parse_args()
    if options.note:
        print(note(version()))
    elif options.version and re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", options.version):
        release(options.version)
    else:
        parser.error("say the version, as in 0.2.0")


def version() -> str:
    """Return the version of the package."""
    (found,) = ASSIGNED.findall(VERSION.read_text(encoding="utf-8"))
    return str(found)


def note(wanted: str) -> str:
    """Return the text of a version's section in CHANGELOG.md."""
    text = CHANGELOG.read_text(encoding="utf-8")
    section = re.search(
        rf"^## \[{re.escape(wanted)}\] - [^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    if not section:
        raise SystemExit(
            f"CHANGELOG.md has no section ## [{wanted}]; python .ci/release.py {wanted} makes it"
        )
    return section[1].strip()


def release(new: str) -> None:
    """Write a version and its section, and commit and tag them."""
    if git("status", "--porcelain"):
        raise SystemExit("there are changes that are not committed; a release is made of a clean checkout")
    text = CHANGELOG.read_text(encoding="utf-8")
    if not text.partition(UNRELEASED)[2].partition("\n## ")[0].strip():
        raise SystemExit("CHANGELOG.md says nothing under [Unreleased]")
    heading = f"{UNRELEASED}\n## [{new}] - {datetime.date.today().isoformat()}\n"
    CHANGELOG.write_text(text.replace(UNRELEASED, heading, 1), encoding="utf-8")
    VERSION.write_text(
        ASSIGNED.sub(f'__version__ = "{new}"', VERSION.read_text(encoding="utf-8")), encoding="utf-8"
    )
    git("commit", "--all", "--message", f"Release {new}")
    git("tag", "--annotate", f"v{new}", "--message", f"morph {new}")
    print(f"committed and tagged; git push --follow-tags starts the release of v{new}")


def git(*words: str) -> str:
    """Run git, and return what it prints."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
