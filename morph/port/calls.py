"""Rewrites the arguments of calls that are devices."""

from __future__ import annotations

import libcst as cst

from morph.port.expressions import is_none, joined, named, parse
from morph.port.replacements import facts
from morph.port.source import Source
from morph.port.texts import Texts
from morph.port.vocabulary import AVAILABLE, Vocabulary
from morph.scan.uses import Kind

STORAGES = ("storage", "typed_storage", "untyped_storage")
CUDA_PARAMETERS = ("device", "non_blocking", "memory_format")


class Calls:
    """Rewrites the calls of a module that are not CUDA's own.

    Args:
        source: The module.
        vocabulary: Gives names to what the module gets.
        texts: Rewrites its texts.
    """

    def __init__(self, source: Source, vocabulary: Vocabulary, texts: Texts) -> None:
        self._source = source
        self._vocabulary = vocabulary
        self._texts = texts

    def call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Return a call with its devices rewritten: ``torch.device("cuda", 0)``, ``"cuda:{}".format(0)``."""
        names = self._source.names(original.func)
        if names == ["torch.device"]:
            return self._torch_device(original, updated)
        match original.func, updated.args:
            case cst.Attribute(value=cst.SimpleString() as text, attr=cst.Name("format")), [only]:
                return self._texts.formatted(text, only.value) or updated
        for name in names:
            if name in facts().device_numbers:
                return self._without_numbers(updated, facts().device_numbers[name])
            if name in facts().implied:
                return self._with_device(updated, facts().implied[name])
        return updated

    def _torch_device(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Return the device that ``torch.device`` makes of rewritten text."""
        match original.args, updated.args:
            case [only], [became] if self._source.uses_at(only.value, Kind.DEVICE):
                return updated if isinstance(became.value, cst.BaseString) else became.value
            case [kind, _], [_, number] if self._source.uses_at(kind.value, Kind.DEVICE):
                return self._texts.numbered(number.value)
        return updated

    def _without_numbers(self, updated: cst.Call, parameters: tuple[str, ...]) -> cst.Call:
        """Return a call whose arguments that number devices are None where there is no accelerator."""
        available = parse(self._vocabulary.spelled(AVAILABLE))
        passed = [
            each.with_changes(value=cst.IfExp(available, each.value, cst.Name("None")))
            if each.keyword and each.keyword.value in parameters and not _is_seen_to(each.value)
            else each
            for each in updated.args
        ]
        return updated.with_changes(args=passed)

    def _with_device(self, updated: cst.Call, parameter: str) -> cst.Call:
        """Return a call that names its device, which is CUDA where none is named."""
        if any(each.star or not each.keyword or each.keyword.value == parameter for each in updated.args):
            return updated
        device = named(cst.Arg(parse(f"{self._vocabulary.device}.type")), parameter)
        return updated.with_changes(args=joined([device, *updated.args]))

    def moved(self, original: cst.Call, updated: cst.Call) -> list[cst.Arg] | None:
        """Return the arguments of ``.to()`` for those of ``.cuda()``; None if that cannot be told."""
        if any(each.star for each in updated.args) or len(updated.args) > len(CUDA_PARAMETERS):
            return None
        destination, rest = parse(self._vocabulary.device), []
        for index, (was, passed) in enumerate(zip(original.args, updated.args, strict=True)):
            keyword = passed.keyword.value if passed.keyword else CUDA_PARAMETERS[index]
            if keyword == "device":
                destination = self._destination(was.value, passed.value)
            else:
                rest.append(named(passed, keyword))
        first = cst.Arg(destination)
        return joined([named(first, "device") if self._moves_storage(original) else first, *rest])

    def _destination(self, was: cst.BaseExpression, passed: cst.BaseExpression) -> cst.BaseExpression:
        """Return the device for the first argument of ``.cuda()``: a number, a device, or None."""
        if is_none(was):
            return parse(self._vocabulary.device)
        is_device = bool(self._source.uses_at(was, Kind.DEVICE)) or self._source.makes_device(was)
        return passed if is_device else self._texts.numbered(passed)

    def _moves_storage(self, call: cst.Call) -> bool:
        """Tell whether what is moved may be a storage, which takes its device by name only.

        A function without a name that moves something is one that torch.load hands storages to.
        """
        owner = call.func.value if isinstance(call.func, cst.Attribute) else None
        is_made = isinstance(owner, cst.Call) and any(
            "torch" in name and "Storage" in name for name in self._source.names(owner.func)
        )
        is_taken = (
            isinstance(owner, cst.Call)
            and isinstance(owner.func, cst.Attribute)
            and owner.func.attr.value in STORAGES
        )
        return is_made or is_taken or isinstance(self._source.parent(call), cst.Lambda)


def _is_seen_to(value: cst.BaseExpression) -> bool:
    """Tell whether a parameter may be None already."""
    return isinstance(value, cst.IfExp) or is_none(value)
