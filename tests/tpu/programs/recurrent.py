"""An embedding, an LSTM and a softmax over words, trained with SGD; prints each loss."""

import sys

import torch
from torch import nn

device = torch.device(sys.argv[1])
torch.manual_seed(0)
words, embedding, lstm, head = (
    torch.randint(0, 11, (4, 7)),
    nn.Embedding(11, 8),
    nn.LSTM(8, 9),
    nn.Linear(9, 11),
)
parts = nn.ModuleList([embedding, lstm, head]).to(device)
words = words.to(device)
optimizer = torch.optim.SGD(parts.parameters(), lr=0.5, momentum=0.9)
for _ in range(4):
    hidden, _ = lstm(embedding(words[:, :-1]).transpose(0, 1))
    loss = nn.functional.cross_entropy(head(hidden).transpose(0, 1).flatten(0, 1), words[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
