"""Training as in scripts of 2019: apex.amp, apex's data parallelism, and checkpoints with amp's state."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn

try:
    from apex import amp
    from apex.multi_tensor_apply import multi_tensor_applier
    from apex.parallel import DistributedDataParallel as DDP
    from apex.parallel import convert_syncbn_model
except ImportError as error:
    raise ImportError("Please install apex from https://www.github.com/nvidia/apex") from error


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.head = nn.Linear(8 * 8 * 8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).flatten(1))


class data_prefetcher:
    def __init__(self, loader: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.preload()

    def preload(self) -> None:
        try:
            self.next_input, self.next_target = next(self.loader)
        except StopIteration:
            self.next_input = None
            self.next_target = None
            return
        with torch.cuda.stream(self.stream):
            self.next_input = self.next_input.cuda(non_blocking=True)
            self.next_target = self.next_target.cuda(non_blocking=True)

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        torch.cuda.current_stream().wait_stream(self.stream)
        input, target = self.next_input, self.next_target
        if input is not None:
            input.record_stream(torch.cuda.current_stream())
            target.record_stream(torch.cuda.current_stream())
        self.preload()
        return input, target


def quadrants(rank: int, count: int = 8) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(rank)
    loader = []
    for _ in range(count):
        target = torch.randint(0, 4, (16,), generator=generator)
        images = torch.randn(16, 1, 8, 8, generator=generator) * 0.3
        for image, label in zip(images, target.tolist(), strict=True):
            image[0, 4 * (label // 2) :, 4 * (label % 2) :][:4, :4] += 1
        loader.append((images, target))
    return loader


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", default=int(os.getenv("LOCAL_RANK", "0")), type=int)
    parser.add_argument("--opt-level", default="O1")
    parser.add_argument("--keep-batchnorm-fp32", default=None)
    parser.add_argument("--loss-scale", default=None)
    parser.add_argument("--sync_bn", action="store_true")
    parser.add_argument("--epochs", default=2, type=int)
    parser.add_argument("--resume", default="")
    parser.add_argument("--save", default="")
    args = parser.parse_args()

    assert multi_tensor_applier.available
    args.distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if args.distributed:
        torch.cuda.set_device(args.local_rank % torch.cuda.device_count())
        dist.init_process_group(backend="nccl", init_method="env://")
    torch.backends.cudnn.benchmark = True
    assert torch.backends.cudnn.enabled, "Amp requires cudnn backend to be enabled."
    torch.manual_seed(0)

    model = Net()
    if args.sync_bn:
        model = convert_syncbn_model(model)
    model = model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, weight_decay=1e-4)
    model, optimizer = amp.initialize(
        model,
        optimizer,
        opt_level=args.opt_level,
        keep_batchnorm_fp32=args.keep_batchnorm_fp32,
        loss_scale=args.loss_scale,
    )
    if args.distributed:
        model = DDP(model, delay_allreduce=True)
    criterion = nn.CrossEntropyLoss().cuda()
    start = 0
    if args.resume:
        checkpoint = torch.load(args.resume, map_location=lambda storage, loc: storage.cuda())
        start = checkpoint["epoch"]
        model.load_state_dict(checkpoint["state_dict"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        amp.load_state_dict(checkpoint["amp"])

    for epoch in range(start, args.epochs):
        model.train()
        prefetcher = data_prefetcher(quadrants(args.local_rank))
        input, target = prefetcher.next()
        while input is not None:
            loss = criterion(model(input), target)
            optimizer.zero_grad()
            with amp.scale_loss(loss, optimizer) as scaled_loss:
                scaled_loss.backward()
            optimizer.step()
            input, target = prefetcher.next()
        if args.local_rank == 0 and args.save:
            state = {"state_dict": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({"epoch": epoch + 1, **state, "amp": amp.state_dict()}, args.save)

    model.eval()
    correct = total = 0
    with torch.no_grad():
        for images, target in quadrants(10):
            correct += int((model(images.cuda()).argmax(1) == target.cuda()).sum())
            total += len(target)
    scale = amp.state_dict()["loss_scaler0"]["loss_scale"]
    print(f"rank {args.local_rank}: accuracy {correct / total:.2f}, loss scale {scale:g}")


if __name__ == "__main__":
    main()
