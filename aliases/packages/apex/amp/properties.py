"""The options of amp, and the levels that set them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import torch

from ._amp_state import warn_or_err


class Properties:
    """The options, each an attribute; setting one checks that it is compatible with the level."""

    options: dict[str, Any]

    def __init__(self) -> None:
        self.__dict__["options"] = {
            "enabled": False,
            "opt_level": None,
            "cast_model_type": None,
            "patch_torch_functions": False,
            "keep_batchnorm_fp32": None,
            "master_weights": None,
            "loss_scale": 1.0,
        }

    def _update_options_dict(self, new_options: Iterable[tuple[str, Any]]) -> None:
        for name, value in new_options:
            if name not in self.options:
                raise ValueError(f"Tried to set unexpected option {name}")
            self.options[name] = value

    def __getattr__(self, name: str) -> Any:
        options = self.__dict__.get("options", {})
        if name in options:
            return options[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.options:
            super().__setattr__(name, value)
            return
        check: Callable[[Any, Any], Any] = _CHECKS.get(name, lambda level, value: value)
        self.options[name] = check(self.opt_level, value)


def _checked_cast(level: Any, value: Any) -> Any:
    if level == "O1" and value not in (None, False, torch.float32):
        warn_or_err(
            "With O1 the casts are around functions, and the model's weights stay in float32: to cast the "
            f"model, use opt_level O2 or O3. cast_model_type was {value}"
        )
    return value


def _checked_patching(level: Any, value: Any) -> Any:
    if level != "O1" and value:
        warn_or_err("patch_torch_functions=True goes with opt_level='O1' only.")
    return value


def _checked_batchnorm(level: Any, value: Any) -> Any:
    if level == "O1" and value is not None:
        warn_or_err(
            "With O1 batch normalisation computes in float32 by itself: keep_batchnorm_fp32 should be None. "
            f"keep_batchnorm_fp32 was {value}"
        )
    value = {"True": True, "False": False}.get(value, value) if isinstance(value, str) else value
    assert value in (True, False, None), (
        "keep_batchnorm_fp32 must be a boolean, the string 'True' or 'False', or None, "
        f"found keep_batchnorm_fp32={value}"
    )
    return value


def _checked_masters(level: Any, value: Any) -> Any:
    if level == "O1" and value is not None:
        warn_or_err("master_weights makes no sense with O1, whose model weights are in float32 themselves.")
    return value


def _checked_scale(level: Any, value: Any) -> Any:
    return value if value == "dynamic" else float(value)


_CHECKS: dict[str, Callable[[Any, Any], Any]] = {
    "cast_model_type": _checked_cast,
    "patch_torch_functions": _checked_patching,
    "keep_batchnorm_fp32": _checked_batchnorm,
    "master_weights": _checked_masters,
    "loss_scale": _checked_scale,
}


class _Level:
    """A set of defaults; calling it writes them to properties."""

    brief: ClassVar[str]
    more: ClassVar[str] = ""
    defaults: ClassVar[dict[str, Any]]

    def __call__(self, properties: Properties) -> Properties:
        level = {"enabled": True, "opt_level": type(self).__name__}
        properties._update_options_dict({**level, **self.defaults}.items())
        return properties


class O3(_Level):
    """All of the model in float16."""

    brief = "O3:  float16 throughout."
    defaults: ClassVar[dict[str, Any]] = {
        "cast_model_type": torch.float16,
        "patch_torch_functions": False,
        "keep_batchnorm_fp32": False,
        "master_weights": False,
        "loss_scale": 1.0,
    }


class O2(_Level):
    """The model in float16 except for batch normalisation, with float32 masters of its weights."""

    brief = "O2:  float16, with batch normalisation and master weights in float32.\n"
    defaults: ClassVar[dict[str, Any]] = {
        "cast_model_type": torch.float16,
        "patch_torch_functions": False,
        "keep_batchnorm_fp32": True,
        "master_weights": True,
        "loss_scale": "dynamic",
    }


class O1(_Level):
    """The model in float32, with casts around the functions that gain from float16 or need float32."""

    brief = "O1:  casts around functions, by torch.autocast.\n"
    defaults: ClassVar[dict[str, Any]] = {
        "cast_model_type": None,
        "patch_torch_functions": True,
        "keep_batchnorm_fp32": None,
        "master_weights": None,
        "loss_scale": "dynamic",
    }


class O0(_Level):
    """All of the model in float32."""

    brief = "O0:  float32 throughout.\n"
    defaults: ClassVar[dict[str, Any]] = {
        "cast_model_type": torch.float32,
        "patch_torch_functions": False,
        "keep_batchnorm_fp32": None,
        "master_weights": False,
        "loss_scale": 1.0,
    }


opt_levels = {"O3": O3(), "O2": O2(), "O1": O1(), "O0": O0()}
