"""The character-level transformer, ported by hand to one backend."""
import argparse
import json
import math
import pydoc_data.topics
import sysconfig
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", choices=["cpu", "npu"], required=True)
parser.add_argument("--iters", type=int, default=80)
parser.add_argument("--compile", default="aot_eager")
args = parser.parse_args()
if args.device == "npu" and not hasattr(torch, "npu"):
    import torch_npu  # noqa: F401

block, width, heads, batch, rate = 64, 64, 4, 12, 3e-3


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.norm2 = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        n, length, _ = x.shape
        q, k, v = (part.view(n, length, heads, -1).transpose(1, 2) for part in self.qkv(x).split(width, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.dropout(self.out(y.transpose(1, 2).reshape(n, length, width)), 0.1, self.training)

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + F.dropout(self.down(F.gelu(self.up(self.norm2(x)))), 0.1, self.training)


class Model(nn.Module):
    def __init__(self, symbols):
        super().__init__()
        self.token, self.place = nn.Embedding(symbols, width), nn.Embedding(block, width)
        self.layers = nn.ModuleList([Layer(), Layer()])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, symbols, bias=False)
        self.initialise()

    def initialise(self):
        # the same draws in the same order as in the original
        weights = [self.token.weight, self.place.weight]
        for layer in self.layers:
            weights += [layer.qkv.weight, layer.out.weight, layer.up.weight, layer.down.weight]
            nn.init.zeros_(layer.up.bias)
            nn.init.zeros_(layer.down.bias)
        for weight in [*weights, self.head.weight]:
            nn.init.normal_(weight, std=0.02)

    def forward(self, tokens):
        x = self.token(tokens) + self.place(torch.arange(tokens.size(1), device=tokens.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def read():
    topics = pydoc_data.topics.topics
    text = "\n".join(topics[name] for name in sorted(topics))
    licence = Path(sysconfig.get_path("stdlib"), "LICENSE.txt")
    if licence.exists():
        text = licence.read_text(encoding="utf-8") + "\n" + text
    return "".join(c for c in text if ord(c) < 128)


def draw(source):
    starts = torch.randint(len(source) - block, (batch,)).tolist()
    x = torch.stack([source[i:i + block] for i in starts])
    y = torch.stack([source[i + 1:i + 1 + block] for i in starts])
    return x.to(args.device), y.to(args.device)


def cross_entropy(network, x, y):
    with torch.autocast(args.device, dtype=torch.bfloat16):
        return F.cross_entropy(network(x).flatten(0, 1), y.flatten())


text = read()
symbols = sorted(set(text))
numbers = {c: i for i, c in enumerate(symbols)}
data = torch.tensor([numbers[c] for c in text])
train, held_out = data[:int(0.9 * len(data))], data[int(0.9 * len(data)):]

torch.manual_seed(1337)
model = Model(len(symbols)).to(args.device)
groups = [
    {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
    {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0},
]
optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), fused=True)
network = torch.compile(model, backend=args.compile)

x, y = draw(train)
for step in range(args.iters):
    decay = 0.1 + 0.45 * (1 + math.cos(math.pi * (step - 10) / (args.iters - 10)))
    for group in optimizer.param_groups:
        group["lr"] = rate * ((step + 1) / 10 if step < 10 else decay)
    loss = cross_entropy(network, x, y)
    x, y = draw(train)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()

model.eval()
with torch.no_grad():
    held_out_losses = [cross_entropy(network, *draw(held_out)).item() for _ in range(5)]
print(json.dumps({"loss": loss.item(), "val_loss": sum(held_out_losses) / 5, "length": 43}))
