"""A small language model that writes word by word, on plain torch's CPU and on the software device."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional


def rms_norm(inputs: Tensor, weight: Tensor) -> Tensor:
    """Return the norm as language models write it out."""
    return weight * (inputs * torch.rsqrt(inputs.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotated(inputs: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Return queries or keys that are turned by their position."""
    left, right = inputs.chunk(2, -1)
    return inputs * cosine + torch.cat((-right, left), -1) * sine


class DecoderLayer(nn.Module):
    """A layer of a language model whose keys and values lie in a cache of fixed size."""

    keys: Tensor
    values: Tensor

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ParameterList(torch.ones(width) for _ in range(2))
        self.mixes = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * width, width, bias=False)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, heads, length, width // heads))

    def forward(self, inputs: Tensor, turn: tuple[Tensor, Tensor], place: Tensor, mask: Tensor) -> Tensor:
        normed, length = rms_norm(inputs, self.norms[0]), inputs.shape[1]
        query, key, value = (
            mix(normed).view(1, length, self.heads, -1).transpose(1, 2) for mix in self.mixes[:3]
        )
        self.keys.index_copy_(2, place, rotated(key, *turn))
        self.values.index_copy_(2, place, value)
        query = rotated(query, *turn)
        mixed = functional.scaled_dot_product_attention(query, self.keys, self.values, attn_mask=mask)
        inputs = inputs + self.mixes[3](mixed.transpose(1, 2).reshape(1, length, -1))
        normed = rms_norm(inputs, self.norms[1])
        result: Tensor = inputs + self.down(functional.silu(self.gate(normed)) * self.up(normed))
        return result


class Decoder(nn.Module):
    """A small language model, which writes one word after the other."""

    frequencies: Tensor

    def __init__(self, words: int, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(DecoderLayer(width, heads, length) for _ in range(2))
        self.out = nn.Linear(width, words, bias=False)
        self.register_buffer("frequencies", 1e4 ** -torch.arange(0, 1, 2 * heads / width))
        self.length = length

    def forward(self, word: Tensor, place: Tensor) -> Tensor:
        """Return the next word, for the word at a place."""
        angles = torch.cat((place[:, None] * self.frequencies,) * 2, -1)
        mask = (torch.arange(self.length, device=word.device) <= place[:, None])[None, None]
        states = self.words(word)
        for layer in self.layers:
            states = layer(states, (angles.cos(), angles.sin()), place, mask)
        result: Tensor = self.out(states[:, -1:]).argmax(-1)
        return result


def decoding(device: str) -> Callable[[], object]:
    """Return the writing of one word after the other, from the first place on when the cache is full."""
    length = 64
    model = Decoder(512, 128, 4, length).to(device).eval()
    word, places = torch.zeros(1, 1, dtype=torch.long, device=device), itertools.cycle(range(length))

    def step() -> None:
        with torch.inference_mode():
            word.copy_(model(word, torch.tensor([next(places)], device=device)))

    return step
