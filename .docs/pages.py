"""The site's pages: the Markdown files that its navigation names, at their own paths, and what they link to.

mkdocs calls the functions that begin with ``on_``.
"""

from __future__ import annotations

import pathlib
import posixpath
import re
from collections.abc import Iterator, Sequence

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from morph.backends.tables import interfaces
from morph.evidence.coverage.matrix import build
from morph.evidence.coverage.page import page as coverage_page

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!!)\[([^\]\[]+)\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)")
COVERAGE = "coverage.html"  # as `morph coverage --html` writes it


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files of the repository that are shown, and the coverage page."""
    for path in reachable([name for name in named(config.nav or []) if name != COVERAGE]):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    matrices = [build(interface=name) for name in interfaces.names()]
    files.append(File.generated(config, COVERAGE, content=coverage_page(matrices)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Let a link to a folder lead to its README; without one, only the text is left."""

    def rewrite(link: re.Match[str]) -> str:
        path = resolve(page.file.src_uri, link[2])
        if not (ROOT / path).is_dir():
            return link[0]
        return f"[{link[1]}]({link[2].rstrip('/')}/README.md)" if readme(path) else link[1]

    return LINK.sub(rewrite, markdown)


def named(entries: Sequence[object]) -> Iterator[str]:
    """Yield the paths in a navigation."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            for value in entry.values():
                yield from named(value if isinstance(value, list) else [value])


def reachable(paths: Sequence[str]) -> list[str]:
    """Return the files at ``paths`` and those of the repository to which Markdown files among them link."""
    found, waiting = set[str](), [*paths]
    while waiting:
        path = waiting.pop()
        path = (readme(path) or "") if (ROOT / path).is_dir() else path
        if path in found or not (ROOT / path).is_file():
            continue
        found.add(path)
        if path.endswith(".md"):
            text = (ROOT / path).read_text(encoding="utf-8")
            waiting += [resolve(path, link[2]) for link in LINK.finditer(text)]
    return sorted(found)


def readme(folder: str) -> str | None:
    """Return the path of a folder's README, if it has one."""
    path = posixpath.join(folder, "README.md")
    return path if (ROOT / path).is_file() else None


def resolve(page: str, link: str) -> str:
    """Return the path in the repository to which a relative link on a page leads."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
