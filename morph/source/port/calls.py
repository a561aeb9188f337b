"""Rewrites device arguments of calls."""

from __future__ import annotations

import libcst as cst

from morph.source.port.conditions import is_guarded
from morph.source.port.expressions import is_none, joined, named, parse
from morph.source.port.replacements import facts
from morph.source.port.source import Source
from morph.source.port.texts import Texts
from morph.source.port.vocabulary import AVAILABLE, Vocabulary
from morph.source.scan.uses import Kind, Use

STORAGES = ("storage", "typed_storage", "untyped_storage")
LOAD_PARAMETERS = ("f", "map_location", "pickle_module")
CUDA_PARAMETERS = ("device", "non_blocking", "memory_format")


class Calls:
    """Rewrites the calls of a module that are not CUDA's own.

    Args:
        source: The module.
        vocabulary: The names of the stand-ins in the module.
        texts: Rewrites its texts.
        done: Receives the rewritten uses.
    """

    def __init__(self, source: Source, vocabulary: Vocabulary, texts: Texts, done: set[Use]) -> None:
        self._done = done
        self._source = source
        self._vocabulary = vocabulary
        self._texts = texts

    def call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Return a call with its devices rewritten: ``torch.device("cuda", 0)``, ``"cuda:{}".format(0)``."""
        names = self._source.names(original.func)
        if names == ["torch.device"]:
            return self._torch_device(original, updated)
        if names == ["torch.load"]:
            return self._load(updated)
        match original.func, updated.args:
            case cst.Attribute(value=cst.SimpleString() as text, attr=cst.Name("format")), [only]:
                return self._texts.formatted(text, only.value) or updated
            case cst.Attribute(value=owner, attr=cst.Name("pin_memory")), [] if self._pins(original, owner):
                return cst.Call(cst.Name(self._vocabulary.name("pinned")), [cst.Arg(owner)])
        updated = updated.with_changes(args=[*map(self._passed, original.args, updated.args)])
        for name in names:
            if name in facts().device_numbers:
                return self._without_numbers(updated, facts().device_numbers[name])
            if name in facts().device_lists:
                updated = self._without_devices(updated, facts().device_lists[name])
            if name in facts().implied:
                return self._with_device(updated, facts().implied[name])
        return updated

    def _pins(self, call: cst.Call, owner: cst.BaseExpression) -> bool:
        """Return whether a call is a tensor's ``pin_memory()``, where there may be no accelerator."""
        is_module = self._source.names(call.func) and not self._source.made_by(owner)
        return not is_module and not is_guarded(self._source, call)

    def _passed(self, original: cst.Arg, updated: cst.Arg) -> cst.Arg:
        """Return an argument in a form for the CPU too, if possible: a number is no device there."""
        call = self._source.parent(original)
        keyword = original.keyword.value if original.keyword else ""
        if not isinstance(call, cst.Call):
            return updated
        names = self._source.names(call.func)
        if keyword == "pin_memory" and any(map(facts().pins, names)):
            return updated.with_changes(value=self._only_with_accelerator(updated.value))
        is_moved = isinstance(call.func, cst.Attribute) and call.func.attr.value == "to"
        is_device = keyword == "device" or (is_moved and original is call.args[0])
        if is_device and self._source.made_by(original.value) == {"torch.cuda.current_device"}:
            return updated.with_changes(value=self._texts.numbered(updated.value))
        return updated

    def _only_with_accelerator(self, value: cst.BaseExpression) -> cst.BaseExpression:
        available = parse(self._vocabulary.spelled(AVAILABLE))
        if isinstance(value, cst.Name) and value.value in ("True", "False"):
            return available if value.value == "True" else value
        return cst.BooleanOperation(available, cst.And(), value)

    def _load(self, updated: cst.Call) -> cst.Call:
        """Return a call of ``torch.load`` that accepts CUDA's checkpoints, if it has no ``map_location``."""
        for index, each in enumerate(updated.args):
            if each.star:
                return updated
            if (each.keyword.value if each.keyword else LOAD_PARAMETERS[min(index, 2)]) == "map_location":
                return self._load_to(updated, each)
        place = named(cst.Arg(cst.Name(self._vocabulary.name("saved_on_cuda"))), "map_location")
        return updated.with_changes(args=joined([*updated.args, place]))

    def _load_to(self, updated: cst.Call, place: cst.Arg) -> cst.Call:
        """Return a call of ``torch.load`` whose dictionary of locations, if any, includes CUDA's."""
        if not isinstance(place.value, cst.Dict):
            return updated
        function = cst.Name(self._vocabulary.name("saved_at"))
        became = place.with_changes(value=cst.Call(function, [cst.Arg(place.value)]))
        return updated.with_changes(args=[became if each is place else each for each in updated.args])

    def _torch_device(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Return the device for a call of ``torch.device`` with rewritten text."""
        match original.args, updated.args:
            case [only], [became] if self._source.uses_at(only.value, Kind.DEVICE):
                return updated if isinstance(became.value, cst.BaseString) else became.value
            case [kind, _], [_, number] if self._source.uses_at(kind.value, Kind.DEVICE):
                return self._texts.numbered(number.value)
        return updated

    def _without_numbers(self, updated: cst.Call, parameters: tuple[str, ...]) -> cst.Call:
        """Return a call whose device numbers are None where there is no accelerator."""
        available = parse(self._vocabulary.spelled(AVAILABLE))
        passed = [
            each.with_changes(value=cst.IfExp(available, each.value, cst.Name("None")))
            if each.keyword and each.keyword.value in parameters and not _is_seen_to(each.value)
            else each
            for each in updated.args
        ]
        return updated.with_changes(args=passed)

    def _without_devices(self, updated: cst.Call, parameter: str) -> cst.Call:
        """Return a call whose devices are an empty list where there is no accelerator."""
        if any(each.star or not each.keyword for each in updated.args):
            return updated
        names = [each.keyword and each.keyword.value for each in updated.args]
        argument = updated.args[names.index(parameter)] if parameter in names else None
        if argument is not None and _is_seen_to(argument.value) and not is_none(argument.value):
            return updated
        available = parse(self._vocabulary.spelled(AVAILABLE))
        listed = cst.IfExp(available, argument.value if argument else cst.Name("None"), parse("[]"))
        if argument is not None:
            return updated.with_deep_changes(argument, value=listed)
        return updated.with_changes(args=joined([*updated.args, named(cst.Arg(listed), parameter)]))

    def _with_device(self, updated: cst.Call, parameter: str) -> cst.Call:
        """Return a call that names its device, where the default is CUDA."""
        if any(each.star or not each.keyword or each.keyword.value == parameter for each in updated.args):
            return updated
        device = named(cst.Arg(parse(f"{self._vocabulary.device}.type")), parameter)
        return updated.with_changes(args=joined([device, *updated.args]))

    def moved(self, use: Use, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Return ``x.to(device)`` for ``x.cuda()``."""
        passed = self._to(original, updated)
        if passed is None or not isinstance(updated.func, cst.Attribute):
            return updated
        self._done.add(use)
        return updated.with_changes(func=updated.func.with_changes(attr=cst.Name("to")), args=passed)

    def _to(self, original: cst.Call, updated: cst.Call) -> list[cst.Arg] | None:
        """Return the arguments of ``.to()`` for those of ``.cuda()``; None if they are unknown."""
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
        """Return whether the moved object may be a storage, which accepts a device by name only.

        A lambda that moves something is usually one that torch.load calls with storages.
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
    """Return whether an argument is None, or a conditional expression, already."""
    return isinstance(value, cst.IfExp) or is_none(value)
