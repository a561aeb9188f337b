"""The threads of a block in Python: generators that stop where a thread waits for others."""

import dataclasses
from collections.abc import Callable
from typing import Any

WARP = 32


@dataclasses.dataclass
class Meeting:
    """What a thread waits for.

    Attributes:
        place: Which statement it is; all threads that meet are at one.
        members: Which threads of the block meet; None for all that have not ended.
        given: What this thread brings.
        answer: Makes what each takes with it of what each brought, both by thread.
    """

    place: object
    members: frozenset[int] | None
    given: Any
    answer: Callable[[dict[int, Any]], dict[int, Any]]


@dataclasses.dataclass
class Thread:
    """A thread: where it is, its variables, and the memory that it shares.

    Attributes:
        index: Its number in its block.
        block: The number of the block.
        sizes: How many threads a block has, and how many blocks there are.
        input: The numbers that all kernels read.
        shared: The memory of its block, by name.
        totals: The memory of all blocks that atomic operations change.
        variables: Its variables, by name.
    """

    index: int
    block: int
    sizes: tuple[int, int]
    input: list[int]
    shared: dict[str, Any]
    totals: list[int]
    variables: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def lane(self):
        return self.index % WARP

    @property
    def lanes(self):
        """The threads of its warp."""
        return self.tile(WARP)

    def tile(self, size):
        """Return the threads of its part of the block."""
        first = self.index - self.index % size
        return frozenset(range(first, first + size))


def run_block(threads, body):
    """Run the threads of a block, each to where it waits for others, until all have ended."""
    running = {thread.index: body(thread) for thread in threads}
    answers = dict.fromkeys(running)
    waiting = {}
    while running:
        for index, answer in answers.items():
            try:
                waiting[index] = running[index].send(answer)
            except StopIteration:
                del running[index]
        answers = _met(waiting, running)
        assert answers or not running, "threads wait for each other"


def _met(waiting, running):
    """Return what the threads take with them that wait for no other."""
    for meeting in list(waiting.values()):
        members = running if meeting.members is None else meeting.members
        here = {index: waiting[index] for index in members if index in waiting}
        if len(here) == len(members) and all(other.place is meeting.place for other in here.values()):
            for index in here:
                del waiting[index]
            return meeting.answer({index: other.given for index, other in sorted(here.items())})
    return {}
