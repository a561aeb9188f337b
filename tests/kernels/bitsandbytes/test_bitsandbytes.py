"""bitsandbytes on the software device computes what it does on the CPU."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("bitsandbytes")

PROGRAM = """
import torch, bitsandbytes as bnb
from bitsandbytes import functional as F

torch.manual_seed(0)
x, weight = torch.randn(64, 64), torch.randn(4096, 2)
for kind in ("nf4", "fp4"):
    (own, state), (host, host_state) = (F.quantize_4bit(each, quant_type=kind) for each in (x.cuda(), x))
    assert own.is_cuda and own.cpu().equal(host)
    torch.testing.assert_close(F.dequantize_4bit(own, state).cpu(), F.dequantize_4bit(host, host_state))
for name in ("Adam8bit", "AdamW8bit", "Lion8bit", "PagedAdamW8bit", "AdamW"):
    updated = []
    for device in ("cuda", "cpu"):
        parameter = torch.nn.Parameter(weight.to(device, copy=True))
        optimizer = getattr(bnb.optim, name)([parameter], lr=0.01)
        for _ in range(3):
            (parameter ** 2).sum().backward()
            optimizer.step()
        updated.append(parameter.detach().cpu())
    torch.testing.assert_close(*updated)
    assert not updated[0].equal(weight)
layer = bnb.nn.Linear4bit(64, 32, compute_dtype=torch.float32).cuda()
assert layer.weight.dtype is torch.uint8 and layer(x.cuda()).is_cuda
layer(x.cuda().requires_grad_()).sum().backward()
assert bnb.nn.Linear8bitLt(64, 32, has_fp16_weights=False).cuda()(x.half().cuda()).shape == (64, 32)
print("done")
"""


def test_quantized_layers_and_optimizers():
    words = [sys.executable, "-m", "morph", "--backend", "cpu", "-c", PROGRAM]
    done = subprocess.run(words, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
    assert "CUDA SETUP ERROR" not in done.stderr
