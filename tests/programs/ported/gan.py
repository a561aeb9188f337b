"""The GAN, ported by hand to one backend."""
import argparse
import json

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", choices=["cpu", "npu"], required=True)
args = parser.parse_args()
if args.device == "npu" and not hasattr(torch, "npu"):
    import torch_npu  # noqa: F401


def noise(count):
    values = np.random.normal(0, 1, (count, 16)).astype(np.float32)
    return torch.from_numpy(values).to(args.device)


np.random.seed(0)
torch.manual_seed(0)
generator = nn.Sequential(
    nn.Linear(16, 64), nn.BatchNorm1d(64, 0.8), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.Tanh())
discriminator = nn.Sequential(nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1), nn.Sigmoid())
generator.to(args.device)
discriminator.to(args.device)
criterion = nn.BCELoss()
generator_steps = torch.optim.Adam(generator.parameters(), lr=0.0002, betas=(0.5, 0.999))
discriminator_steps = torch.optim.Adam(discriminator.parameters(), lr=0.0002, betas=(0.5, 0.999))
digits = torch.tensor(load_digits().data / 8 - 1, dtype=torch.float32)

for _ in range(15):
    for (real,) in DataLoader(TensorDataset(digits), batch_size=64, shuffle=True):
        real = real.to(args.device)
        ones, zeros = real.new_ones(len(real), 1), real.new_zeros(len(real), 1)
        generated = generator(noise(len(real)))
        generator_loss = criterion(discriminator(generated), ones)
        generator_steps.zero_grad()
        generator_loss.backward()
        generator_steps.step()

        judged, caught = discriminator(real), discriminator(generated.detach())
        loss = (criterion(judged, ones) + criterion(caught, zeros)) / 2
        discriminator_steps.zero_grad()
        loss.backward()
        discriminator_steps.step()

sample = generator(noise(4)).detach().cpu()
print(json.dumps({"loss": loss.item(), "g_loss": generator_loss.item(), "sample_mean": sample.mean().item()}))
