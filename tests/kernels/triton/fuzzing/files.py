"""Kernels in files, from which triton reads their source."""

import importlib.util

import torch

IMPORTS = """import triton
import triton.language as tl
from triton.language.extra import libdevice

"""
OF_EACH = """@triton.jit
def computed({names}, out, N: tl.constexpr):
    i = tl.arange(0, N)
    {names} = {loads}
    {stores}
"""


def function_of(source, name, folder):
    """Return a function of a new module, which knows triton."""
    file = folder / f"{name}.py"
    file.write_text(IMPORTS + source)
    specification = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return getattr(module, name)


def numbers(*shape, dtype=torch.float32, seed=0):
    """Return random numbers on the device."""
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point:
        return torch.randn(*shape, generator=generator).to(dtype).cuda()
    low = -100 if dtype.is_signed else 0
    return torch.randint(low, 100, shape, generator=generator).to(dtype).cuda()


def of_each(texts, inputs, folder, *, dtype=None, **options):
    """Return a row of results for each expression of the elements a, b and c of tensors."""
    names = "abc"[: len(inputs)]
    loads = [f"tl.load({name} + i)" for name in names]
    stores = [f"tl.store(out + {row} * N + i, {text})" for row, text in enumerate(texts)]
    joined = {"names": ", ".join(names), "loads": ", ".join(loads), "stores": "\n    ".join(stores)}
    out = torch.empty(len(stores), len(inputs[0]), dtype=dtype or inputs[0].dtype, device="cuda")
    kernel = function_of(OF_EACH.format(**joined), "computed", folder)
    kernel[(1,)](*inputs, out, N=len(inputs[0]), **options)
    return out
