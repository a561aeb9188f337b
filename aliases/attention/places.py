"""Which queries see which keys: the parts of the scores, and the places of their rows in the tensors."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from .options import Attention

if TYPE_CHECKING:
    from .request import Request

Place = tuple[slice | Tensor, slice | Tensor]
Range = tuple[int, int]

FLOAT8 = torch.float8_e4m3fn
WHOLE = slice(None), slice(None)


class Part(NamedTuple):
    """Queries that see some keys, and no others.

    Attributes:
        queries: Their places in the first two dimensions of the queries.
        keys: Likewise in keys and values: ranges, or indices.
        attention: The options.
        sequence: The number of the sequence; -1 for all of a batch.
    """

    queries: tuple[slice, slice]
    keys: Place
    attention: Attention
    sequence: int = -1

    @property
    def is_whole(self) -> bool:
        """Whether these are all queries and all keys."""
        return self.queries == WHOLE and self.keys[0] is WHOLE[0] and self.keys[1] is WHOLE[1]


def parts(request: Request) -> list[Part]:
    """Return the parts of a request: one for each sequence, or one for a batch of sequences of one length."""
    attention = request.attention
    if _is_dense(request):
        return [Part(WHOLE, WHOLE, attention)]
    keys = _of_keys(request)
    first = keys[0][1] if keys else None
    own_rows = all(each is None for each in (request.query_ends, request.queries_used, request.key_ends))
    cached = own_rows and request.rows is None and request.table is None and request.query_scale is None
    if cached and all(tokens == first for _, tokens in keys):
        return [Part(WHOLE, (slice(0, len(keys)), first), attention)]  # type: ignore[arg-type]
    pairs = enumerate(zip(_of_queries(request), keys, strict=True))
    return [Part(*pair, attention.of_sequence(index), index) for index, pair in pairs]


def lengths(request: Request) -> tuple[list[int], list[int]] | None:
    """Return the lengths of sequences that fill queries, keys and values from end to end, else None."""
    if request.query_ends is None or request.key_ends is None or not _is_plain(request):
        return None
    ends = request.query_ends.tolist(), request.key_ends.tolist()
    if [(each[0], each[-1]) for each in ends] != [(0, len(request.query)), (0, len(request.key))]:
        return None
    queries, keys = ([end - start for start, end in itertools.pairwise(each)] for each in ends)
    return queries, keys


def selected(tensor: Tensor, place: Place) -> Tensor:
    """Return the rows of a place, of shape (sequences, tokens, heads, size)."""
    rows = tensor[place]
    return rows if rows.dim() == 4 else rows[None]


def add(total: Tensor, place: Place, part: Tensor) -> None:
    """Add to the rows of a place, which may contain a row more than once."""
    rows, tokens = place
    if isinstance(tokens, slice):
        total[rows, tokens] += part
    else:
        total.index_add_(1, tokens, part.to(total.dtype))


def ranges(ends: Tensor) -> list[Range]:
    """Return where each sequence begins and ends."""
    return list(itertools.pairwise(ends.tolist()))


def _is_dense(request: Request) -> bool:
    scales = request.query_scale, request.key_scale, request.value_scale
    return request.query_ends is None and request.key_ends is None and _is_plain(request, *scales)


def _is_plain(request: Request, *others: Tensor | None) -> bool:
    """Return whether all queries and keys are used as they lie in memory."""
    used = request.queries_used, request.keys_used, request.leftpad, request.rows, request.table
    extra = request.query_value if request.query_ends is not None else None
    plain = all(each is None for each in (*used, extra, *others, request.given))
    return plain and request.query.dtype != FLOAT8


def _of_queries(request: Request) -> list[tuple[slice, slice]]:
    batch, used = request.batch_size, _listed(request.queries_used)
    if request.query_ends is not None:
        spans = ranges(request.query_ends)
        counts = [end - start for start, end in spans] if used is None else used
        return [(slice(0, 1), slice(start, start + n)) for (start, _), n in zip(spans, counts, strict=True)]
    counts = [request.query.shape[1]] * batch if used is None else used
    return [(slice(row, row + 1), slice(0, count)) for row, count in enumerate(counts)]


def _of_keys(request: Request) -> list[Place]:
    spans = _spans(request)
    pages = request.pages
    if pages is not None:
        if request.key_ends is not None:
            spans = [(0, end - start) for start, end in spans]
        return [_in_pages(row, request.key, *span) for row, span in zip(pages, spans, strict=True)]
    if request.key_ends is not None:
        return [(slice(0, 1), slice(*span)) for span in spans]
    rows = _listed(request.rows) or range(len(spans))
    return [(slice(row, row + 1), slice(*span)) for row, span in zip(rows, spans, strict=True)]


def _spans(request: Request) -> list[Range]:
    """Return the range of each sequence's keys in its row, in its pages, or in the tensor of all keys."""
    spans = [(0, request.capacity)] * request.batch_size
    if request.key_ends is not None:
        spans = ranges(request.key_ends)
    used, pads = _listed(request.keys_used), _listed(request.leftpad)
    if used is not None:
        spans = [(start, start + count) for (start, _), count in zip(spans, used, strict=True)]
    if pads is not None:
        spans = [(start + pad, end) for (start, end), pad in zip(spans, pads, strict=True)]
    return spans


def _in_pages(pages: Tensor, key: Tensor, start: int, end: int) -> Place:
    position = torch.arange(start, end, device=key.device)
    return pages.long()[position // key.shape[1]], position % key.shape[1]


def _listed(numbers: Tensor | None) -> list[int] | None:
    return None if numbers is None else numbers.tolist()
