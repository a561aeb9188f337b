"""The coverage table as one page that needs nothing beside itself."""

from __future__ import annotations

import importlib.resources
import json

from morph.coverage.matrix import Matrix


def page(matrix: Matrix) -> str:
    """Return the HTML of a page with search and filters."""
    data = json.dumps(matrix.as_json(), separators=(",", ":")).replace("</", "<\\/")
    text = _part("page.html")
    for place, content in (("STYLE", _part("page.css")), ("SCRIPT", _part("page.js")), ("DATA", data)):
        text = text.replace(f"{{{{{place}}}}}", content)
    return text


def _part(name: str) -> str:
    return (importlib.resources.files(__package__) / "html" / name).read_text(encoding="utf-8")
