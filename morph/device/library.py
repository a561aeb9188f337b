"""Custom operators: kernels that a program registers for CUDA run for the tensors of the backend's device."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import torch

from morph.base.journal import Journal
from morph.device.parameters import Args, Handler, Kwargs, wrap
from morph.device.words import CUDA, Words


def install(words: Words, journal: Journal) -> None:
    """Register kernels for the backend's device that are registered for CUDA."""
    wrap("torch.library:Library.impl", lambda function: _impl(words), words, journal)
    wrap("torch.library:Library.__init__", lambda function: _without_key, words, journal)
    kernel = "torch._library.custom_ops:CustomOpDef.register_kernel"
    wrap(kernel, lambda function: _register_kernel(words), words, journal)


def _impl(words: Words) -> Handler:
    translated = set[str]()  # the kernels for CUDA that are registered under the device's key

    def call(wrapped: Callable[..., Any], library: Any, args: Args, kwargs: Kwargs) -> Any:
        name, function, key, options = _impl_arguments(library, *args, **kwargs)
        target = words.dispatch_key(key)
        kernel = _Kernel.of(library, name, target)
        if target == key:
            return kernel.replacing(translated, lambda: wrapped(name, function, key, **options))
        if kernel.is_the_devices(translated):
            return None
        translated.add(kernel.entry)
        return wrapped(name, function, target, **options)

    return call


class _Kernel(NamedTuple):
    """A kernel's place in the dispatcher.

    Attributes:
        operator: ``"fsdp::chunk_cat"``.
        key: The dispatch key.
    """

    operator: str
    key: str

    @classmethod
    def of(cls, library: Any, name: Any, key: str) -> _Kernel:
        schema = None if isinstance(name, str) else name._schema
        text = ".".join(filter(None, (schema.name, schema.overload_name))) if schema else name
        return cls(text if "::" in text else f"{library.ns}::{text}", key)

    @property
    def entry(self) -> str:
        """Its entry in torch's list of the kernels that Python code has registered."""
        return f"{self.operator.replace('::', '/')}/{self.key}"

    def is_the_devices(self, translated: Collection[str]) -> bool:
        """Return whether torch, the vendor or the program has a kernel for the device itself.

        torch's own operators are an exception: a program that registers a kernel for one replaces it.
        """
        if self.entry in translated:
            return False
        if self.entry in torch.library._impls:
            return True
        if self.operator.startswith("aten::") or not torch._C._dispatch_has_kernel(self.operator):
            return False
        return torch._C._dispatch_has_kernel_for_dispatch_key(self.operator, self.key)

    def replacing(self, translated: set[str], register: Callable[[], Any]) -> Any:
        """Register the device's own kernel, in place of one for CUDA if that came first."""
        if self.entry not in translated:
            return register()
        translated.discard(self.entry)
        torch.library._impls.discard(self.entry)  # torch before 2.8 refuses a second one
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return register()


def _impl_arguments(
    library: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any
) -> tuple[Any, Any, str, dict[str, Any]]:
    return op_name, fn, dispatch_key or library.dispatch_key, options


def _without_key(wrapped: Callable[..., Any], library: Any, args: Args, kwargs: Kwargs) -> None:
    """Open a library for CUDA as one without a key; each of its kernels then names the translated key."""
    namespace, kind, key = _library_arguments(*args, **kwargs)
    wrapped(namespace, kind, "" if "CUDA" in key else key)
    library.dispatch_key = key


def _library_arguments(ns: str, kind: str, dispatch_key: str = "") -> tuple[str, str, str]:
    return ns, kind, dispatch_key


def _register_kernel(words: Words) -> Handler:
    def call(wrapped: Callable[..., Any], definition: Any, args: Args, kwargs: Kwargs) -> Any:
        types, function = _kernel_arguments(*args, **kwargs)
        if types is None:
            return wrapped(types, function)
        requested = [types] if isinstance(types, str) else list(types)
        return wrapped(_device_types(requested, words), function)

    return call


def _kernel_arguments(device_types: Any, fn: Any = None) -> tuple[Any, Any]:
    return device_types, fn


def _device_types(asked: list[str], words: Words) -> list[str]:
    """Add the backend's device type where CUDA's is given; CUDA's stays, for devices given as text."""
    if CUDA not in asked:
        return asked
    return list(dict.fromkeys([*asked, words.device_type(CUDA)]))
