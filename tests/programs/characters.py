"""Train a character-level transformer on the text that comes with Python, after nanoGPT."""
import argparse
import inspect
import json
import math
import os
import pydoc_data.topics
import sysconfig
from contextlib import nullcontext
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class GPTConfig:
    block_size: int = 64
    vocab_size: int = 128
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 64
    dropout: float = 0.1


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=False)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=False)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.n_head = config.n_head

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (y.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
                   for y in self.c_attn(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C)))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(config.n_embd, 4 * config.n_embd), nn.GELU(),
            nn.Linear(4 * config.n_embd, config.n_embd), nn.Dropout(config.dropout))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.ln_f = nn.LayerNorm(config.n_embd)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, idx, targets=None):
        pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        x = self.wte(idx) + self.wpe(pos)
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))

    def configure_optimizers(self, weight_decay, learning_rate, device_type):
        decay = [p for p in self.parameters() if p.dim() >= 2]
        nodecay = [p for p in self.parameters() if p.dim() < 2]
        groups = [{"params": decay, "weight_decay": weight_decay}, {"params": nodecay, "weight_decay": 0.0}]
        fused_available = "fused" in inspect.signature(torch.optim.AdamW).parameters
        use_fused = fused_available and device_type == "cuda"
        print(f"using fused AdamW: {use_fused}")
        return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.95), fused=use_fused)

    @torch.no_grad()
    def generate(self, idx, max_new_tokens, temperature=1.0, top_k=None):
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -self.config.block_size:])
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, top_k)
                logits[logits < v[:, [-1]]] = -float("Inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
        return idx


def read_text():
    parts = [pydoc_data.topics.topics[name] for name in sorted(pydoc_data.topics.topics)]
    license_file = os.path.join(sysconfig.get_path("stdlib"), "LICENSE.txt")
    if os.path.exists(license_file):
        with open(license_file, encoding="utf-8") as file:
            parts.insert(0, file.read())
    return "\n".join(parts)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--iters", type=int, default=80)
parser.add_argument("--batch-size", type=int, default=12)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--compile", default="aot_eager", metavar="BACKEND",
                    help="backend of torch.compile: eager, aot_eager, inductor, or none")
args = parser.parse_args()

device = "cuda"
dtype = "bfloat16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "float16"
torch.manual_seed(1337)
torch.cuda.manual_seed(1337)
torch.backends.cuda.matmul.allow_tf32 = True  # allow tf32 on matmul
torch.backends.cudnn.allow_tf32 = True  # allow tf32 on cudnn
device_type = "cuda" if "cuda" in device else "cpu"  # for later use in torch.autocast
ptdtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[dtype]
ctx = nullcontext() if device_type == "cpu" else torch.amp.autocast(device_type=device_type, dtype=ptdtype)

text = "".join(c for c in read_text() if ord(c) < 128)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text], dtype=torch.long)
split = int(0.9 * len(data))
splits = {"train": data[:split], "val": data[split:]}
config = GPTConfig(vocab_size=len(chars))


def get_batch(name):
    source = splits[name]
    ix = torch.randint(len(source) - config.block_size, (args.batch_size,))
    x = torch.stack([source[i:i + config.block_size] for i in ix])
    y = torch.stack([source[i + 1:i + 1 + config.block_size] for i in ix])
    if device_type == "cuda":
        # pin arrays x,y, which allows us to move them to GPU asynchronously (non_blocking=True)
        return x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
    return x.to(device), y.to(device)


@torch.no_grad()
def estimate_loss(batches=5):
    model.eval()
    losses = torch.zeros(batches)
    for k in range(batches):
        X, Y = get_batch("val")
        with ctx:
            _, loss = model(X, Y)
        losses[k] = loss.item()
    model.train()
    return losses.mean().item()


def get_lr(it, warmup=10):
    if it < warmup:
        return args.lr * (it + 1) / warmup
    return args.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * (it - warmup) / (args.iters - warmup))))


model = GPT(config).to(device)
print(f"{sum(p.numel() for p in model.parameters()) / 1e3:.1f}K parameters, {len(text)} characters, {dtype}")
scaler = torch.cuda.amp.GradScaler(enabled=(dtype == "float16"))
optimizer = model.configure_optimizers(1e-1, args.lr, device_type)
unoptimized_model = model
if args.compile != "none":
    model = torch.compile(model, backend=args.compile)

start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
X, Y = get_batch("train")
for it in range(args.iters):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(it)
    with ctx:
        logits, loss = model(X, Y)
    X, Y = get_batch("train")  # immediately async prefetch next batch
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    if it % 25 == 0:
        print(f"iter {it}: loss {loss.item():.4f}")
stop.record()
torch.cuda.synchronize()
print(f"{start.elapsed_time(stop) / args.iters:.1f} ms per iteration, "
      f"{torch.cuda.max_memory_allocated() / 2**20:.1f} MB peak")

val_loss = estimate_loss()
unoptimized_model.eval()
prompt = torch.tensor([[stoi["T"], stoi["h"], stoi["e"]]], dtype=torch.long, device=device)
with ctx:
    sample = unoptimized_model.generate(prompt, 40, temperature=0.8, top_k=20)
print("".join(chars[i] for i in sample[0].tolist()))
print(json.dumps({"loss": loss.item(), "val_loss": val_loss, "length": sample.shape[1]}))
