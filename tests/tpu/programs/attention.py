"""Prints numbers of a causal transformer, trained eagerly and compiled: `attention.py cuda|cpu`."""

import sys

import torch
import torch.nn.functional as F

DEVICE = torch.device(sys.argv[1])


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.enter, self.leave = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.enter(self.norm(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
        return x + self.leave(mixed.transpose(1, 2).reshape(batch, length, width))


def losses(compiled):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Embedding(32, 16), Block(16, 4), torch.nn.Linear(16, 32)).to(DEVICE)
    tokens = (torch.arange(64).view(4, 16) * 7 % 32).to(DEVICE)
    # torch_tpu 0.2.0 cannot compile for a view that is not contiguous
    before, after = tokens[:, :-1].contiguous(), tokens[:, 1:].flatten()
    run = torch.compile(model, mode="reduce-overhead", backend="inductor") if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    for _ in range(3):
        loss = F.cross_entropy(run(before).flatten(0, 1), after)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield loss.item()


print(*losses(compiled=False), sep="\n")
print(*losses(compiled=DEVICE.type == "cuda"), sep="\n")
