"""Mixed precision with custom autograd functions: a quantisation-aware multi-layer perceptron."""
import json

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.cuda.amp import custom_bwd, custom_fwd


class RoundSTE(torch.autograd.Function):
    """Round to a grid; the gradient passes straight through."""

    @staticmethod
    @custom_fwd(cast_inputs=torch.float32)
    def forward(ctx, x, step):
        assert not torch.is_autocast_enabled() and x.dtype == torch.float32
        ctx.step = step
        ctx.save_for_backward(x)
        return torch.round(x / step) * step

    @staticmethod
    @custom_bwd
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() < 127 * ctx.step).to(grad_output.dtype), None


class MatMul(torch.autograd.Function):
    """A matrix product whose backward runs under the autocast state of its forward."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x.mm(weight.t())

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad_output):
        assert torch.is_autocast_enabled("cuda")
        x, weight = ctx.saved_tensors
        return grad_output.mm(weight), grad_output.t().mm(x)


class QuantLinear(nn.Linear):
    def forward(self, x):
        weight = RoundSTE.apply(self.weight, 1 / 64)
        return MatMul.apply(x, weight) + self.bias


def main():
    torch.manual_seed(0)
    torch.cuda.manual_seed_all(0)
    images, labels = load_digits(return_X_y=True)
    images = torch.as_tensor(images, dtype=torch.float32, device="cuda") / 16
    labels = torch.as_tensor(labels, device="cuda")
    model = nn.Sequential(QuantLinear(64, 64), nn.ReLU(), QuantLinear(64, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scaler = torch.cuda.amp.GradScaler(init_scale=2.0 ** 10, growth_interval=100)

    skipped = 0
    for step in range(300):
        index = torch.randint(1400, (64,)).cuda()
        with torch.cuda.amp.autocast():
            output = model(images[index])
            assert output.dtype == torch.get_autocast_gpu_dtype() or output.dtype == torch.float32
        with torch.cuda.amp.autocast(enabled=False):
            loss = F.cross_entropy(output.float(), labels[index])
        optimizer.zero_grad()
        scaled = scaler.scale(loss)
        scaled.backward()
        if step == 50:  # an overflow: the step must be skipped and the scale halved
            model[0].weight.grad[0, 0] = float("inf")
        before, weight = scaler.get_scale(), model[2].weight.detach().clone()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() < before:
            skipped += 1
            assert torch.equal(weight, model[2].weight)
    assert skipped == 1

    with torch.inference_mode(), torch.autocast("cuda"):
        output = model(images[1400:])
    loss = F.cross_entropy(output.float(), labels[1400:]).item()
    accuracy = 100 * (output.argmax(1) == labels[1400:]).float().mean().item()
    print(json.dumps({"loss": loss, "accuracy": accuracy, "scale": scaler.get_scale()}))


if __name__ == "__main__":
    main()
