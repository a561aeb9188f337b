"""The policy gradient agent, ported by hand to one backend."""
import argparse
import json

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", choices=["cpu", "npu"], required=True)
args = parser.parse_args()
if args.device == "npu" and not hasattr(torch, "npu"):
    import torch_npu  # noqa: F401

draws = torch.Generator().manual_seed(0)


def advance(state, action):
    """Advance cart-poles by a time step of 0.02 s; each row is position, speed, angle, spin.

    A cart-pole is chaotic, so the arithmetic is in the same order as in the original.
    """
    x, speed, angle, spin = state.T
    sin, cos = angle.sin(), angle.cos()
    push = (20.0 * action - 10.0 + 0.05 * spin ** 2 * sin) / 1.1
    turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
    speeding = push - 0.05 * turn * cos / 1.1
    return torch.stack(
        [x + 0.02 * speed, speed + 0.02 * speeding, angle + 0.02 * spin, spin + 0.02 * turn], 1)


def episode(choose):
    state = ((torch.rand(16, 4, generator=draws) - 0.5) * 0.1).to(args.device)
    alive = torch.ones(16, device=args.device)
    scores, lives = [], []
    for _ in range(100):
        logits = policy(state)
        logits = logits - logits.logsumexp(1, keepdim=True)
        action = choose(F.softmax(logits, 1))
        scores.append(logits.gather(1, action[:, None])[:, 0] * alive)
        lives.append(alive)
        state = advance(state, action)
        alive = alive * ((state[:, 0].abs() <= 2.4) & (state[:, 2].abs() <= 0.2095))
    return torch.stack(scores), torch.stack(lives)


def sample(probability):
    return (torch.rand(16, generator=draws).to(args.device) < probability[:, 1]).long()


torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2)).to(args.device)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.03)
for _ in range(15):
    scores, lives = episode(sample)
    gain = lives.flip(0).cumsum(0).flip(0)
    loss = -(scores * ((gain - gain.mean()) / (gain.std() + 1e-6))).sum(0).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    _, lives = episode(lambda probability: probability.argmax(1))
print(json.dumps({"loss": loss.item(), "steps": lives.sum(0).mean().item()}))
