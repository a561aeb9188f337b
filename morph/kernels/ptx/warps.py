"""What the lanes of a warp and the threads of a block do together: shuffles, votes, reductions, barriers."""

from __future__ import annotations

from morph.kernels.ptx.calls import PREDICATE, WORD, Call, acts, of_type, translates, translates_several

ALL = "0xffffffffu"
_SHUFFLES = ("up", "down", "bfly", "idx")
_VOTES = {"all": "__all_sync", "any": "__any_sync", "ballot": "__ballot_sync"}


def _one_of(call: Call, names: tuple[str, ...]) -> str:
    call.of_block()
    call.only({"sync", *names})
    found = [word for word in call.instruction.modifiers if word in names]
    if len(found) != 1:
        raise call.refusal("this instruction is not translated")
    return found[0]


@translates_several("shfl")
def _shuffled(call: Call) -> str:
    which = _one_of(call, _SHUFFLES)
    operands = ", ".join(call.sources(WORD))
    mask = "" if "sync" in call.words else f", {ALL}"
    return f"morph_ptx::shuffle<morph_ptx::Shuffle::{which}>({operands}{mask})"


@translates("vote")
def _voted(call: Call) -> str:
    function = _VOTES[_one_of(call, tuple(_VOTES))]
    value, *mask = call.sources(PREDICATE, WORD)
    voted = f"::{function}({mask[0] if mask else ALL}, {value})"
    return of_type(call.type, f"{voted} != 0" if call.type.width == 1 else voted)


@translates("activemask")
def _active(call: Call) -> str:
    call.of_block()
    return "::__activemask()"


@translates_several("match")
def _matched(call: Call) -> str:
    which = _one_of(call, ("any", "all"))
    value, mask = call.sources(call.type, WORD)
    return f"morph_ptx::matched_{which}({mask}, {value})"


@translates("redux")
def _reduced(call: Call) -> str:
    which = _one_of(call, ("add", "min", "max", "and", "or", "xor"))
    value, mask = call.sources(call.type, WORD)
    of = "int" if call.type.is_signed else "unsigned"
    return of_type(call.type, f"::__reduce_{which}_sync({mask}, {of}({value}))")


@acts("bar", "barrier")
def _waited(call: Call) -> str:
    """Return the barrier of all threads of a block, of as many as it names, or of a warp."""
    call.of_block()
    call.only({"sync", "arrive", "cta", "warp", "aligned"})
    operands = call.instruction.operands
    if "warp" in call.words:
        return f"::__syncwarp({call.read(operands[0], WORD)})"
    if operands == ("0",):
        return "::__syncthreads()"
    barrier, threads = (call.read(each, WORD) for each in (*operands, "0")[:2])
    waits = str("sync" in call.words).lower()
    return f"::morph_cuda::arrive_at({barrier}, {threads}, {waits})"


@acts("trap", "brkpt")
def _ended(call: Call) -> str:
    """Return the end of the launch by an error."""
    call.of_block()
    call.only(set())
    place = "__builtin_FILE(), __builtin_LINE(), __func__"
    return f'::morph_cuda::fail("the instruction {call.instruction.name} was carried out", {place})'
