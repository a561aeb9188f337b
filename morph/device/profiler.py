"""Profilers: ProfilerActivity.CUDA is the activity of the backend's device, where torch can record one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch.profiler.profiler
from torch.profiler import ProfilerActivity, supported_activities

from morph.base.journal import Journal
from morph.device.parameters import Args, Handler, Kwargs, translating, wrap
from morph.device.words import CUDA, Words

_BEFORE_2_12 = "_KinetoProfile.__init__"


def install(words: Words, journal: Journal) -> None:
    """Make the profilers record the backend's device for CUDA's activity, or on the CPU only the host."""
    own = _own_activity(words)
    activities = {"activities": lambda given: _activities(given, own)}
    parse = "_parse_activities" if hasattr(torch.profiler.profiler, "_parse_activities") else _BEFORE_2_12
    for name in (parse, "_KinetoProfile.toggle_collection_dynamic"):
        wrap(f"torch.profiler.profiler:{name}", _translator(activities), words, journal)
    wrap("torch.autograd.profiler:profile.__init__", lambda function: _profile(words, own), words, journal)
    # only NVIDIA's tools read these ranges
    disabled = {"enabled": lambda given: False}
    wrap("torch.autograd.profiler:emit_nvtx.__init__", _translator(disabled), words, journal)


def _translator(values: dict[str, Callable[[Any], Any]]) -> Callable[[Callable[..., Any]], Handler]:
    return lambda function: translating(function, values)


def _own_activity(words: Words) -> ProfilerActivity | None:
    activity: ProfilerActivity | None = getattr(ProfilerActivity, words.dispatch_key("CUDA"), None)
    supported = supported_activities()  # type: ignore[no-untyped-call]
    recordable = activity in supported and activity is not ProfilerActivity.CPU
    return activity if recordable else None


def _activities(given: Iterable[Any] | None, own: ProfilerActivity | None) -> list[Any] | None:
    """Replace CUDA's activity, also as a dictionary key; drop it if the backend has none."""
    if given is None:
        return None
    translated: list[Any] = []
    for item in given:
        if isinstance(item, dict):
            kept = {own if key is ProfilerActivity.CUDA else key: value for key, value in item.items()}
            translated += [{key: value for key, value in kept.items() if key is not None}]
        else:
            translated.append(own if item is ProfilerActivity.CUDA else item)
    return [item for item in translated if item] or [ProfilerActivity.CPU]


def _profile(words: Words, own: ProfilerActivity | None) -> Handler:
    def call(wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Any:
        use_cuda = kwargs.pop("use_cuda", False)
        if use_cuda or kwargs.get("use_device") == CUDA:
            kwargs["use_device"] = words.device_type(CUDA) if own else None
            # the profiler before Kineto supports no Intel GPU, and reports that
            kwargs["use_kineto"] = kwargs.get("use_kineto", False) or own is ProfilerActivity.XPU
        return wrapped(*args, **kwargs)

    return call
