"""The options of amp, and the levels that set them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from ._amp_state import warn_or_err

opt_levels: dict[str, dict[str, Any]] = {
    level: {
        "cast_model_type": cast,
        "patch_torch_functions": patch,
        "keep_batchnorm_fp32": batchnorm,
        "master_weights": masters,
        "loss_scale": scale,
    }
    for level, cast, patch, batchnorm, masters, scale in (
        ("O3", torch.float16, False, False, False, 1.0),
        ("O2", torch.float16, False, True, True, "dynamic"),
        ("O1", None, True, None, None, "dynamic"),
        ("O0", torch.float32, False, None, False, 1.0),
    )
}


class Properties(SimpleNamespace):
    """The options, each an attribute; without a level, amp is not enabled."""

    def __init__(self) -> None:
        super().__init__(enabled=False, opt_level=None, **opt_levels["O0"])

    def choose(self, level: str, **overrides: Any) -> None:
        """Set the level, and other options than its own.

        Raises:
            RuntimeError: If one is incompatible with the level, unless ``hard_override`` is set.
        """
        vars(self).update(enabled=True, opt_level=level, **opt_levels[level])
        for name, value in overrides.items():
            if value is not None:
                setattr(self, name, _checked(level, name, value))


def _checked(level: str, name: str, value: Any) -> Any:
    if name == "loss_scale":
        return value if value == "dynamic" else float(value)
    if name == "patch_torch_functions" and value and level != "O1":
        warn_or_err("patch_torch_functions=True goes with opt_level='O1' only.")
    if name in _WITH_O1 and level == "O1" and value not in _HARMLESS.get(name, ()):
        warn_or_err(f"{_WITH_O1[name]} {name} was {value}")
    if name == "keep_batchnorm_fp32":
        value = {"True": True, "False": False}.get(value, value) if isinstance(value, str) else value
        assert value in (True, False), (
            "keep_batchnorm_fp32 must be a boolean, the string 'True' or 'False', or None, "
            f"found keep_batchnorm_fp32={value}"
        )
    return value


_WITH_O1 = {
    "cast_model_type": "With O1 the casts are around functions, and the model's weights stay in float32: to "
    "cast the model, use opt_level O2 or O3.",
    "keep_batchnorm_fp32": "With O1 batch normalisation computes in float32 by itself: it should be None.",
    "master_weights": "It makes no sense with O1, whose model weights are in float32 themselves.",
}
_HARMLESS: dict[str, tuple[Any, ...]] = {"cast_model_type": (False, torch.float32)}
