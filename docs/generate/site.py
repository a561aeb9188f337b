"""What mkdocs calls (each function that begins with ``on_``): pages from the repository, and generated parts.

A page lies at its path in the repository, and those of ``docs/`` at the site's root. Links are written for a
reader of the repository, and changed for the site. A line ``<!-- {{ name }} -->`` is replaced by the part of
that name.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.generate import architecture, evidence, reference
from docs.generate.rooms import ROOT
from docs.generate.tables import labelled
from morph.backends.tables import interfaces
from morph.evidence.coverage.matrix import build
from morph.evidence.coverage.page import page as coverage_page

PLACE = "docs/"  # of the pages that are written for the site
COVERAGE = "coverage.html"  # as `morph coverage --html` writes it
ROOMS = "ROOMS"  # stands in the navigation for the rooms' pages
LINK = re.compile(r"(?<!!)\[([^\]\[]+)\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)")
PART = re.compile(r"^<!-- \{\{ (\w+) \}\} -->$", re.MULTILINE)
PARTS: Mapping[str, Callable[[], str]] = {
    "backends": evidence.backends,
    "packages": evidence.packages,
    "idioms": evidence.holding,
    "gaps": evidence.gaps,
    "suites": evidence.suites,
    "pytorch": evidence.pytorch,
    "pytorch_npu": evidence.vendor,
    "card": evidence.card,
    "repositories": evidence.repositories,
    "stacks": evidence.stacks,
    "releases": evidence.releases,
    "speed": evidence.speed,
    "program": reference.program,
    "options": reference.options,
    "commands": reference.each_command,
    "picture": architecture.image,
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the rooms into the navigation."""
    config.nav = [_with_rooms(entry) for entry in config.nav or []]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, the files of the repository to which they lead, and the coverage page."""
    made = architecture.missing_pages()
    named = [_source(path) for path in _named(config.nav or []) if path != COVERAGE]
    for path in _reachable([path for path in named if path not in made]):
        files.append(File.generated(config, place(path), abs_src_path=str(ROOT / path)))
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    matrices = [build(interface=name) for name in interfaces.names()]
    files.append(File.generated(config, COVERAGE, content=coverage_page(matrices)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Fill in the generated parts, and let the links lead where the site has what they lead to."""
    source = _source(page.file.src_uri)
    if source == "README.md":
        page.meta["hide"] = ["navigation"]  # it stands alone
    whole = PART.sub(lambda part: PARTS[part[1]](), markdown) + architecture.appendix(source)
    return LINK.sub(lambda link: _moved(link, source), whole)


def on_page_content(html: str, **_: object) -> str:
    """Let the tables fit a phone."""
    return labelled(html)


def place(path: str) -> str:
    """Return where the site has a file of the repository."""
    return path.removeprefix(PLACE) if path.endswith(".md") else path


def _source(uri: str) -> str:
    """Return the path in the repository of what the site has at ``uri``."""
    return uri if (ROOT / uri).is_file() or not (ROOT / PLACE / uri).is_file() else PLACE + uri


def _moved(link: re.Match[str], source: str) -> str:
    text, path, anchor = link[1], _target(source, link[2]), link[3] or ""
    if (ROOT / path).is_dir():
        path = f"{path}/README.md"
        if not _is_page(path):
            return text
    elif not _is_page(path):  # a page of the site's own, as the one on coverage
        return link[0]
    moved = posixpath.relpath(place(path), posixpath.dirname(place(source)) or ".")
    return f"[{text}]({moved}{anchor})"


def _is_page(path: str) -> bool:
    return (ROOT / path).is_file() or path in architecture.missing_pages()


def _with_rooms(entry: object) -> object:
    if isinstance(entry, dict):
        return {title: _with_rooms(value) for title, value in entry.items()}
    if isinstance(entry, list):
        return [
            each
            for inner in entry
            for each in (architecture.navigation() if inner == ROOMS else [_with_rooms(inner)])
        ]
    return entry


def _named(entries: Sequence[object]) -> Iterator[str]:
    """Yield the paths in a navigation."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            for value in entry.values():
                yield from _named(value if isinstance(value, list) else [value])


def _reachable(paths: Sequence[str]) -> list[str]:
    """Return the files at ``paths`` and those of the repository to which Markdown files among them link."""
    found, waiting = set[str](), [*paths]
    while waiting:
        path = waiting.pop()
        path = f"{path}/README.md" if (ROOT / path).is_dir() else path
        if path in found or not (ROOT / path).is_file():
            continue
        found.add(path)
        if path.endswith(".md"):
            text = (ROOT / path).read_text(encoding="utf-8")
            waiting += [_target(path, link[2]) for link in LINK.finditer(text)]
    return sorted(found)


def _target(source: str, link: str) -> str:
    """Return the path in the repository to which a relative link of a file leads."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
