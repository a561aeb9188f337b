"""The plan caches of Fourier transforms: Ascend has one cache for all devices."""

from __future__ import annotations

from typing import Any

from morph.backends import vendor_module


class PlanCaches:
    """``torch.backends.cuda.cufft_plan_cache``: all devices share one cache."""

    def __getitem__(self, device: Any) -> Any:
        vendor_module()._get_device_index(device, optional=True)
        return vendor_module().backends.fft_plan_cache

    def __getattr__(self, name: str) -> Any:
        return getattr(vendor_module().backends.fft_plan_cache, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vendor_module().backends.fft_plan_cache, name, value)


plan_caches = PlanCaches()
