"""A policy gradient agent on a cart-pole simulated on the GPU; it takes the first GPU only."""
import json
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "0"

import torch
import torch.nn as nn
from torch.distributions import Categorical

assert torch.cuda.device_count() == 1
DEVICE = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


class CartPole:
    """A batch of cart-poles that step together; the equations of Barto, Sutton and Anderson."""

    def __init__(self, count, generator):
        self.count, self.generator = count, generator
        self.state = None

    def reset(self):
        noise = torch.rand(self.count, 4, generator=self.generator)
        self.state = ((noise - 0.5) * 0.1).to(DEVICE)

    def step(self, action):
        x, speed, angle, spin = self.state.unbind(1)
        force = torch.where(action == 1, 10.0, -10.0)
        cos, sin = angle.cos(), angle.sin()
        push = (force + 0.05 * spin ** 2 * sin) / 1.1
        spin_change = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
        speed_change = push - 0.05 * spin_change * cos / 1.1
        self.state = torch.stack([x + 0.02 * speed, speed + 0.02 * speed_change,
                                  angle + 0.02 * spin, spin + 0.02 * spin_change], dim=1)
        return (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > 0.2095)


def play(policy, environment, steps, sample):
    environment.reset()
    alive = torch.ones(environment.count, device=DEVICE)
    log_probs, rewards = [], []
    for _ in range(steps):
        distribution = Categorical(logits=policy(environment.state))
        action = sample(distribution)
        log_probs.append(distribution.log_prob(action) * alive)
        rewards.append(alive)
        alive = alive * (~environment.step(action)).float()
    return torch.stack(log_probs), torch.stack(rewards)


def main():
    torch.manual_seed(0)
    torch.cuda.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2)).to(DEVICE)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.03)
    environment = CartPole(16, generator)

    def sample(distribution):
        # sampled on the host, so that a run is reproducible on another device
        draws = torch.rand(environment.count, generator=generator).to(DEVICE, non_blocking=True)
        return (draws < distribution.probs[:, 1]).long()

    for episode in range(15):
        log_probs, rewards = play(policy, environment, 100, sample)
        returns = rewards.flip(0).cumsum(0).flip(0)
        advantage = (returns - returns.mean()) / (returns.std() + 1e-6)
        loss = -(log_probs * advantage).sum(0).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if episode % 10 == 0:
            print(f"episode {episode}: {rewards.sum(0).mean().item():.1f} steps")

    with torch.no_grad():
        _, rewards = play(policy, environment, 100, lambda distribution: distribution.probs.argmax(1))
    print(json.dumps({"loss": loss.item(), "steps": rewards.sum(0).mean().item()}))


if __name__ == "__main__":
    main()
