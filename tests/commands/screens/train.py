import torch
from torch.cuda.amp import GradScaler, autocast

assert torch.cuda.is_available(), "this needs a GPU"
torch.manual_seed(0)
model = torch.nn.Linear(64, 10).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = GradScaler()
if torch.cuda.get_device_capability() >= (8, 0):
    torch.backends.cuda.matmul.allow_tf32 = True

for _ in range(10):
    x = torch.randn(32, 64).pin_memory().to("cuda:0", non_blocking=True)
    with autocast(dtype=torch.float16):
        loss = model(x).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

torch.cuda.synchronize()
print(f"loss {loss.item():.3f} on {x.device.type}, {torch.cuda.device_count()} devices")
if hasattr(torch.cuda, "gds"):
    torch.cuda.gds.GdsFile("weights.bin", 0)
