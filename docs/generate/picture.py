"""The picture of the architecture: the rooms in layers, with a line from each to those that it imports.

A line to a room that is also reached by way of a third is left out. A line past other layers bends around
their rooms, by places that are kept free for it in each layer.
"""

from __future__ import annotations

import html
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from docs.generate.rooms import direct, layers, rooms

HEIGHT, LETTER, MARGIN, GAP, STEP = 34, 8.2, 22, 18, 78  # of a room's box, in pixels
READABLE = 640  # a narrower screen scrolls the picture instead of shrinking it further
SWEEPS = 12  # the crossings of lines change no more after some five


class Place(NamedTuple):
    """A room in its layer, or (with the two rooms' names) the free place of a line that passes by."""

    name: str
    layer: int

    @property
    def is_room(self) -> bool:
        """Whether it is a room."""
        return self.name in rooms()

    @property
    def width(self) -> float:
        """Its width in pixels."""
        return len(self.name) * LETTER + MARGIN if self.is_room else 4


Order = list[list[Place]]
Lines = list[list[Place]]


def svg(link: Callable[[str], str | None]) -> str:
    """Return the picture as SVG.

    Args:
        link: Gives the address of a room's page by the room's name; None where it has none.
    """
    order, lines = _untangled(*_places())
    middles = _middles(order)
    width = max(_right(row, middles) for row in order) + GAP
    height = len(order) * STEP
    drawn = [_line(line, middles) for line in lines]
    drawn += [_box(place, middles, link(place.name)) for row in order for place in row if place.is_room]
    opening = (
        f'<svg class="rooms" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" '
        f'style="min-width: {min(width, READABLE):.0f}px" xmlns="http://www.w3.org/2000/svg" role="img" '
        'aria-label="The rooms of morph">'
    )
    return "\n".join([f'<div class="picture">{opening}', *drawn, "</svg></div>"])


def _places() -> tuple[Order, Lines]:
    """Return the places of each layer in no special order, and the places that each line runs through."""
    height = {name: level for level, layer in enumerate(layers()) for name in layer}
    order: Order = [[Place(name, level) for name in layer] for level, layer in enumerate(layers())]
    lines: Lines = []
    for upper, lower in direct():
        passed = [Place(f"{upper} {lower}", level) for level in range(height[upper] + 1, height[lower])]
        for place in passed:
            order[place.layer].append(place)
        lines.append([Place(upper, height[upper]), *passed, Place(lower, height[lower])])
    return order, lines


def _untangled(order: Order, lines: Lines) -> tuple[Order, Lines]:
    """Order each layer by the middle of the neighbours above, then below, by turns (Sugiyama's method)."""
    above: dict[Place, list[Place]] = {}
    below: dict[Place, list[Place]] = {}
    for line in lines:
        for upper, lower in itertools.pairwise(line):
            above.setdefault(lower, []).append(upper)
            below.setdefault(upper, []).append(lower)
    for sweep in range(SWEEPS):
        near, rows = (above, order) if sweep % 2 == 0 else (below, order[::-1])
        middles = _middles(order)
        for row in rows:
            row.sort(key=lambda place: _mean([middles[each] for each in near.get(place, [place])]))
            middles = _middles(order)
    return order, lines


def _middles(order: Order) -> dict[Place, float]:
    """Return the middle of each place from the left, each layer in the middle of the widest."""
    widths = [sum(place.width + GAP for place in row) for row in order]
    found = {}
    for row, width in zip(order, widths, strict=True):
        left = (max(widths) - width) / 2 + GAP
        for place in row:
            found[place] = left + place.width / 2
            left += place.width + GAP
    return found


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _right(row: Sequence[Place], middles: Mapping[Place, float]) -> float:
    return max(middles[place] + place.width / 2 for place in row)


def _line(line: Sequence[Place], middles: Mapping[Place, float]) -> str:
    top, bottom = (STEP - HEIGHT) / 2, (STEP + HEIGHT) / 2
    path = f"M{middles[line[0]]:.0f},{line[0].layer * STEP + bottom:.0f}"
    for upper, lower in itertools.pairwise(line):
        start = upper.layer * STEP + bottom
        end = lower.layer * STEP + top
        x, y = middles[upper], middles[lower]
        path += f" C{x:.0f},{start + 22:.0f} {y:.0f},{end - 22:.0f} {y:.0f},{end:.0f}"
        path += "" if lower.is_room else f" L{y:.0f},{lower.layer * STEP + bottom:.0f}"
    title = html.escape(f"{line[0].name} imports {line[-1].name}")
    return f'<path d="{path}"><title>{title}</title></path>'


def _box(place: Place, middles: Mapping[Place, float], address: str | None) -> str:
    left, top = middles[place] - place.width / 2, place.layer * STEP + (STEP - HEIGHT) / 2
    said = html.escape(rooms()[place.name].summary)
    box = f'<rect x="{left:.0f}" y="{top:.0f}" width="{place.width:.0f}" height="{HEIGHT}" rx="5"/>'
    name = f'<text x="{middles[place]:.0f}" y="{top + HEIGHT / 2 + 5:.0f}">{html.escape(place.name)}</text>'
    drawn = f"<g><title>{said}</title>{box}{name}</g>"
    return f'<a href="{html.escape(address)}">{drawn}</a>' if address else drawn
