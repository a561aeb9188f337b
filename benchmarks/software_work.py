"""Work that runs identically on plain torch's CPU and on the software device."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks import software_decoding, software_stacks

Work = Callable[[], object]
Step = tuple[nn.Module, Callable[[nn.Module], Tensor]]  # a network and its loss


def small(operator: Callable[[Tensor, Tensor], object], device: str) -> Work:
    """Return an operator on two matrices of 8x8."""
    left, right = (torch.rand(8, 8, device=device) for _ in range(2))
    return lambda: operator(left, right)


def large(operator: Callable[[Tensor, Tensor], object], device: str) -> Work:
    """Return an operator on two tensors of 16 MB."""
    left, right = (torch.rand(4096, 1024, device=device) for _ in range(2))
    return lambda: operator(left, right)


def training(network: nn.Module, loss: Callable[[nn.Module], Tensor]) -> Work:
    """Return a training step with AdamW."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-5)

    def step() -> None:
        optimizer.zero_grad()
        loss(network).backward()
        optimizer.step()

    return step


def encoder_layer(device: str) -> Step:
    """Return a training step of one encoder layer of a transformer."""
    inputs = torch.rand(4, 64, 256, device=device)
    layer = nn.TransformerEncoderLayer(256, 4, 512, batch_first=True).to(device)
    return layer, lambda network: network(inputs).pow(2).mean()


class Residual(nn.Module):
    """Two convolutions with batch norms, and a skip connection."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        for _ in range(2):
            convolution = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            parts += [convolution, nn.BatchNorm2d(channels), nn.ReLU()]
        self.body = nn.Sequential(*parts[:-1])

    def forward(self, inputs: Tensor) -> Tensor:
        return functional.relu(inputs + self.body(inputs))


def resnet(device: str) -> Step:
    """Return a training step of a small residual network on 32 images of 32x32."""
    blocks = [module for channels in (32, 64) for module in _stage(channels)]
    network = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).to(device)
    images, labels = torch.rand(32, 3, 32, 32, device=device), torch.arange(32, device=device) % 10
    return network, lambda network: functional.cross_entropy(network(images), labels)


def _stage(channels: int) -> list[nn.Module]:
    incoming, stride = (3, 1) if channels == 32 else (channels // 2, 2)
    first = nn.Conv2d(incoming, channels, 3, stride=stride, padding=1)
    return [first, nn.BatchNorm2d(channels), nn.ReLU(), Residual(channels), Residual(channels)]


class Block(nn.Module):
    """A decoder block with causal attention."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.gates, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, inputs: Tensor) -> Tensor:
        batch, length, width = inputs.shape
        parts = self.gates(self.norms[0](inputs)).view(batch, length, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*parts, is_causal=True)
        inputs = inputs + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        result: Tensor = inputs + self.wide(self.norms[1](inputs))
        return result


def gpt(device: str) -> Step:
    """Return a training step of a small language model on 4 texts of 128 words."""
    words, width = 2000, 256
    parts = [nn.Embedding(words, width), *(Block(width) for _ in range(4)), nn.LayerNorm(width)]
    network = nn.Sequential(*parts, nn.Linear(width, words)).to(device)
    texts = torch.randint(words, (4, 129)).to(device)

    def loss(network: nn.Module) -> Tensor:
        guesses = network(texts[:, :-1])
        return functional.cross_entropy(guesses.flatten(0, 1), texts[:, 1:].flatten())

    return network, loss


def mixed_gpt(device: str) -> Step:
    """Return the same under autocast to float16, CUDA's default."""
    network, plain = gpt(device)

    def loss(network: nn.Module) -> Tensor:
        with torch.autocast(device, torch.float16):
            return plain(network)

    return network, loss


def lstm(device: str) -> Step:
    """Return a training step of an LSTM on 16 sequences of 32."""
    network = nn.LSTM(64, 128, num_layers=2, batch_first=True).to(device)
    inputs = torch.rand(16, 32, 64, device=device)
    return network, lambda network: network(inputs)[0].pow(2).mean()


def perceptron(device: str) -> Step:
    """Return a training step of a small perceptron with dropout."""
    network = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 10)).to(device)
    inputs, labels = torch.rand(128, 64, device=device), torch.arange(128, device=device) % 10
    return network, lambda network: functional.cross_entropy(network(inputs), labels)


OPERATORS: dict[str, Callable[[Tensor, Tensor], object]] = {
    "add": torch.add,
    "add_": lambda left, right: left.add_(right, alpha=1e-9),
    "matmul": torch.matmul,
    "relu": lambda left, right: left.relu(),
    "sum": lambda left, right: left.sum(),
    "softmax": lambda left, right: left.softmax(1),
    "copy": lambda left, right: left.clone(),
}
STEPS: dict[str, Callable[[str], Step]] = {
    function.__name__: function for function in (encoder_layer, resnet, gpt, mixed_gpt, lstm, perceptron)
}
DECODING = "decode step"


def work(name: str, device: str) -> Work:
    """Return the work with a name from `NAMES` or of a stack, on a device."""
    torch.manual_seed(0)
    if name in software_stacks.STACKS:
        return software_stacks.STACKS[name](device)
    if name.removeprefix("compiled ") in STEPS:
        network, loss = STEPS[name.removeprefix("compiled ")](device)
        return training(torch.compile(network) if name.startswith("compiled ") else network, loss)
    if name == DECODING:
        return software_decoding.decoding(device)
    operator, size = name.split(" of ")
    return (small if size == "8x8" else large)(OPERATORS[operator], device)


NAMES = [
    *(f"{name} of 8x8" for name in OPERATORS),
    *(f"{name} of 16 MB" for name in OPERATORS if name != "matmul"),
    *STEPS,
    *(f"compiled {name}" for name in STEPS),
    DECODING,
]
