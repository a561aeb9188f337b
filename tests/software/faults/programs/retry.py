"""Halves its batch when device memory is out, as long as it must."""

import torch

model = torch.nn.Linear(256, 256, device="cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
refused = []


def take_step(size):
    inputs = torch.ones(size, 256, device="cuda")
    optimizer.zero_grad()
    model(inputs).sum().backward()
    optimizer.step()


for _ in range(4):
    size = 64
    while True:
        try:
            take_step(size)
            break
        except torch.OutOfMemoryError as error:
            refused.append(f"{size} {str(error).splitlines()[0][:47]}")
            torch.cuda.empty_cache()
            size //= 2
print(refused)
print(torch.cuda.memory_stats()["num_ooms"], torch.cuda.memory_stats()["num_alloc_retries"])
