"""Rewrites device arguments of calls."""

from __future__ import annotations

import ast

from morph.source.port.conditions import asks, is_guarded
from morph.source.port.expressions import Argument, Arguments, is_none
from morph.source.port.replacements import facts
from morph.source.port.source import Source
from morph.source.port.texts import Part, Texts
from morph.source.port.vocabulary import AVAILABLE, Vocabulary
from morph.source.scan.uses import Kind, Use

STORAGES = ("storage", "typed_storage", "untyped_storage")
LOAD_PARAMETERS = ("f", "map_location", "pickle_module")
CUDA_PARAMETERS = ("device", "non_blocking", "memory_format")


class Calls(Part):
    """Rewrites the calls of a module that are not CUDA's own."""

    def __init__(self, texts: Texts, source: Source, vocabulary: Vocabulary, done: set[Use]) -> None:
        super().__init__(source, vocabulary, done)
        self._texts = texts

    def call(self, call: ast.Call) -> None:
        """Rewrite the devices of a call: ``torch.device("cuda", 0)``, ``"cuda:{}".format(0)``."""
        names = self._source.names(call.func)
        arguments = Arguments(self._source.draft, call)
        if names == ["torch.device"]:
            return self._torch_device(call, arguments)
        if names == ["torch.load"]:
            return self._load(arguments)
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Constant() as text, attr="format"), args=[number]):
                if not call.keywords and self._texts.formatted(call, text, number):
                    return None
            case ast.Call(func=ast.Attribute(value=owner, attr="pin_memory"), args=[], keywords=[]):
                if self._pins(call, owner):
                    pinned = f"{self._vocabulary.name('pinned')}({self._draft.code(owner)})"
                    return self._draft.replace(call, pinned)
        for each in arguments.given:
            self._pass(call, names, arguments, each)
        return self._choose_devices(names, arguments)

    def _choose_devices(self, names: list[str], arguments: Arguments) -> None:
        for name in names:
            if name in facts().device_numbers:
                return self._without_numbers(arguments, facts().device_numbers[name])
            if name in facts().device_lists or name in facts().implied:
                device = self._implied(arguments, facts().implied.get(name, ""))
                devices = self._without_devices(arguments, facts().device_lists.get(name, ""))
                return arguments.add([device], [devices])
        return None

    def _pins(self, call: ast.Call, owner: ast.expr) -> bool:
        """Return whether a call is a tensor's ``pin_memory()``, where there may be no accelerator."""
        is_module = self._source.names(call.func) and not self._source.made_by(owner)
        return not is_module and not is_guarded(self._source, call)

    def _pass(self, call: ast.Call, names: list[str], arguments: Arguments, argument: Argument) -> None:
        """Pass an argument in a form for the CPU too, if possible: a number is no device there."""
        if argument.keyword == "pin_memory" and any(map(facts().pins, names)):
            if not asks(self._source, argument.value):
                arguments.set(argument, self._only_with_accelerator(arguments.code(argument)))
            return
        is_moved = isinstance(call.func, ast.Attribute) and call.func.attr == "to"
        is_device = argument.keyword == "device" or (is_moved and argument is arguments.given[0])
        if is_device and self._source.made_by(argument.value) == {"torch.cuda.current_device"}:
            arguments.set(argument, self._texts.numbered(arguments.code(argument)))

    def _only_with_accelerator(self, value: str) -> str:
        available = self._vocabulary.spelled(AVAILABLE)
        if value in ("True", "False"):
            return available if value == "True" else value
        return f"{available} and {value if value.isidentifier() else f'({value})'}"

    def _load(self, arguments: Arguments) -> None:
        """Let a call of ``torch.load`` accept CUDA's checkpoints; also one with a dictionary of places."""
        if not arguments.are_known:
            return
        for index, each in enumerate(arguments.given):
            if (each.keyword or LOAD_PARAMETERS[min(index, 2)]) == "map_location":
                if isinstance(each.value, ast.Dict):
                    function = self._vocabulary.name("saved_at")
                    arguments.set(each, f"{function}({arguments.code(each)})")
                return
        arguments.add(last=[f"map_location={self._vocabulary.name('saved_on_cuda')}"])

    def _torch_device(self, call: ast.Call, arguments: Arguments) -> None:
        """Rewrite a call of ``torch.device`` whose text is rewritten."""
        match arguments.given:
            case [only] if self._source.uses_at(only.value, Kind.DEVICE):
                if self._draft.is_edited(only.value):
                    self._draft.replace(call, arguments.code(only))
            case [kind, number] if self._source.uses_at(kind.value, Kind.DEVICE):
                self._draft.replace(call, self._texts.numbered(arguments.code(number)))

    def _without_numbers(self, arguments: Arguments, parameters: tuple[str, ...]) -> None:
        """Let the device numbers of a call be None where there is no accelerator."""
        for each in arguments.given:
            if each.keyword in parameters and not _is_seen_to(arguments.code(each)):
                available = self._vocabulary.spelled(AVAILABLE)
                arguments.set(each, f"{arguments.code(each)} if {available} else None")

    def _without_devices(self, arguments: Arguments, parameter: str) -> str:
        """Let the devices of a call be an empty list where there is no accelerator; return those to add."""
        if not parameter or not arguments.are_known or not all(each.keyword for each in arguments.given):
            return ""
        argument = arguments.named(parameter)
        available = self._vocabulary.spelled(AVAILABLE)
        if argument is None:
            return f"{parameter}=None if {available} else []"
        if is_none(argument.value) or not _is_seen_to(arguments.code(argument)):
            arguments.set(argument, f"{arguments.code(argument)} if {available} else []")
        return ""

    def _implied(self, arguments: Arguments, parameter: str) -> str:
        """Return the device of a call that names none, where the default is CUDA."""
        are_named = arguments.are_known and all(each.keyword for each in arguments.given)
        if not parameter or not are_named or arguments.named(parameter):
            return ""
        return f"{parameter}={self._vocabulary.device}.type"

    def moved(self, use: Use, call: ast.Call) -> None:
        """Write ``x.to(device)`` for ``x.cuda()``, where the arguments are known."""
        arguments = Arguments(self._source.draft, call)
        passed = [each.keyword or name for each, name in zip(arguments.given, CUDA_PARAMETERS, strict=False)]
        if not arguments.are_known or {*passed} - {*CUDA_PARAMETERS} or len(arguments.given) > len({*passed}):
            return
        self._done.add(use)
        name = "device=" if self._moves_storage(call) else ""
        if "device" not in passed:
            arguments.add([f"{name}{self._vocabulary.device}"])
        for parameter, each in zip(passed, arguments.given, strict=True):
            if parameter == "device":
                arguments.set(each, self._destination(each.value, arguments.code(each)))
            if parameter != "device" or name:
                arguments.pass_by_name(each, parameter)
            elif each is arguments.given[0]:
                arguments.pass_by_position(each)
        end = self._draft.places.span(call.func)[1]
        self._draft.replace((end - len("cuda"), end), "to")

    def _destination(self, was: ast.expr, passed: str) -> str:
        """Return the device for the first argument of ``.cuda()``: a number, a device, or None."""
        if is_none(was):
            return self._vocabulary.device
        is_device = self._source.uses_at(was, Kind.DEVICE) or self._source.made_by(was) == {"torch.device"}
        return passed if is_device else self._texts.numbered(passed)

    def _moves_storage(self, call: ast.Call) -> bool:
        """Return whether the moved object may be a storage, which accepts a device by name only.

        A lambda that moves something is usually one that torch.load calls with storages.
        """
        if isinstance(self._source.parent(call), ast.Lambda):
            return True
        match call.func:
            case ast.Attribute(value=ast.Call(func=ast.Attribute(attr=name))) if name in STORAGES:
                return True
            case ast.Attribute(value=ast.Call(func=maker)):
                return any("torch" in name and "Storage" in name for name in self._source.names(maker))
        return False


def _is_seen_to(value: str) -> bool:
    """Return whether an argument is None, or a conditional expression, already."""
    node = ast.parse(f"({value})", mode="eval").body
    return isinstance(node, ast.IfExp) or is_none(node)
