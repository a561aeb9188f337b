"""Every torch method of training on several devices: four processes must match one process on the CPU."""

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

from tests.software.processes import ranks
from tests.software.processes.ranks import same

BATCH, WIDTH = 8, 8
Loss = Callable[[Tensor, Tensor], Tensor]
loss_of: Loss = nn.functional.mse_loss


class Network(nn.Module):
    """Two layers, and a third that some passes skip."""

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.spare = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor, *, spare: bool = True) -> Tensor:
        x = self.down(torch.relu(self.up(x)))
        return self.spare(x) if spare else x


def batch(step: int = 0) -> tuple[Tensor, Tensor]:
    """Returns the inputs and targets of all ranks together."""
    generator = torch.Generator().manual_seed(step)
    return tuple(torch.randn(BATCH, WIDTH, generator=generator) for _ in range(2))  # type: ignore[return-value]


def share(rank: int, size: int, step: int = 0) -> tuple[Tensor, Tensor]:
    """Returns this rank's part of the batch."""
    inputs, targets = batch(step)
    return inputs.chunk(size)[rank].cuda(), targets.chunk(size)[rank].cuda()


def trained(steps: int = 3, **options: bool) -> nn.Module:
    """Returns the network after training on the CPU in one process."""
    network = Network()
    optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9)
    for step in range(steps):
        inputs, targets = batch(step)
        optimizer.zero_grad()
        loss_of(network(inputs, **options), targets).backward()
        optimizer.step()
    return network


def train(
    model: nn.Module, rank: int, size: int, optimizer: torch.optim.Optimizer | None = None, **options: bool
) -> None:
    """Trains as `trained` does, each rank on its share."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for step in range(3):
        inputs, targets = share(rank, size, step)
        optimizer.zero_grad()
        loss_of(model(inputs, **options), targets).backward()
        optimizer.step()


def agree(model: nn.Module, expected: nn.Module, what: str) -> None:
    """Checks that every parameter has the expected value."""
    for (name, found), wanted in zip(model.named_parameters(), expected.parameters(), strict=True):
        whole = found.full_tensor() if isinstance(found, DTensor) else found
        same(whole.detach(), wanted.detach(), f"{what}: {name}")


def data_parallel(rank: int, size: int) -> None:
    expected = trained()
    for options in ({}, {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.001}, {"static_graph": True}):
        model = DistributedDataParallel(Network(seed=rank).cuda(), device_ids=[rank], **options)
        if rank:
            assert not torch.equal(model.module.up.weight.cpu(), Network(seed=rank).up.weight), (
                "rank 0's are sent"
            )
        train(model, rank, size)
        agree(model.module, expected, f"DDP {options}")
    model = DistributedDataParallel(Network().cuda(), device_ids=[rank], find_unused_parameters=True)
    train(model, rank, size, spare=False)
    agree(model.module, trained(spare=False), "DDP with unused parameters")


def without_synchronizing(rank: int, size: int) -> None:
    model, reference = DistributedDataParallel(Network().cuda(), device_ids=[rank]), Network()
    for step in range(2):
        inputs, targets = share(rank, size, step)
        if step:
            loss_of(model(inputs), targets).backward()
        else:
            with model.no_sync():
                loss_of(model(inputs), targets).backward()
        inputs, targets = batch(step)
        loss_of(reference(inputs), targets).backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    same(gradients, [parameter.grad for parameter in reference.parameters()], "no_sync")


def hooks(rank: int, size: int) -> None:
    def by_hand(state, bucket):  # type: ignore[no-untyped-def]  # torch reads annotations, as objects
        work = dist.all_reduce(bucket.buffer().div_(size), async_op=True)
        assert work is not None
        return work.get_future().then(lambda done: done.value()[0])

    power = powerSGD_hook.PowerSGDState(
        process_group=None, matrix_approximation_rank=1, start_powerSGD_iter=10
    )
    for state, hook, precise in (
        (None, default_hooks.allreduce_hook, True),
        (None, by_hand, True),
        (power, powerSGD_hook.powerSGD_hook, True),  # plain until the tenth pass
        (None, default_hooks.bf16_compress_hook, False),
    ):
        model = DistributedDataParallel(Network().cuda(), device_ids=[rank])
        model.register_comm_hook(state, hook)
        train(model, rank, size)
        if precise:
            agree(model.module, trained(), f"hook {hook.__name__}")
        else:
            torch.testing.assert_close(
                model.module.up.weight.cpu(), trained().up.weight, rtol=0.05, atol=0.01
            )


def uneven(rank: int, size: int) -> None:
    model = DistributedDataParallel(Network().cuda(), device_ids=[rank])
    inputs, targets = share(rank, size)
    passes = 0
    with Join([model]):
        for _ in range(rank + 1):
            loss_of(model(inputs), targets).backward()
            passes += 1
    assert passes == rank + 1


def zero_redundancy(rank: int, size: int) -> None:
    model = DistributedDataParallel(Network().cuda(), device_ids=[rank])
    options = {"lr": 0.1, "momentum": 0.9}
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, **options)
    train(model, rank, size, optimizer)
    agree(model.module, trained(), "ZeroRedundancyOptimizer")
    optimizer.consolidate_state_dict(to=0)
    assert rank or len(optimizer.state_dict()["state"]) == 6


def fully_sharded(rank: int, size: int) -> None:
    mesh = init_device_mesh("cuda", (size,))
    model = Network().cuda()
    for layer in (model.up, model.down):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    assert model.up.weight.to_local().shape[0] == 4 * WIDTH // size
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    train(model, rank, size, optimizer)
    agree(model, trained(), "fully_shard")
    saved_and_loaded(model, optimizer, mesh)

    mixed = fully_shard(Network().cuda(), mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
    assert mixed(share(rank, size)[0]).dtype == torch.bfloat16
    loss_of(mixed(share(rank, size)[0]).float(), share(rank, size)[1]).backward()
    assert mixed.up.weight.grad.dtype == torch.float32

    hybrid = fully_shard(
        Network().cuda(), mesh=init_device_mesh("cuda", (2, size // 2), mesh_dim_names=("dp", "shard"))
    )
    train(hybrid, rank, size)
    agree(hybrid, trained(), "fully_shard in two dimensions")


def saved_and_loaded(model: nn.Module, optimizer: torch.optim.Optimizer, mesh: dist.DeviceMesh) -> None:
    """Checks that another model can load the state through torch.distributed.checkpoint."""
    folder = [tempfile.mkdtemp()]
    dist.broadcast_object_list(folder, src=0)
    weights, state = get_state_dict(model, optimizer)
    checkpoint.save({"model": weights, "optimizer": state}, checkpoint_id=folder[0])
    other = fully_shard(Network(seed=5).cuda(), mesh=mesh)
    others = torch.optim.SGD(other.parameters(), 0.1, momentum=0.9)
    weights, state = get_state_dict(other, others)
    loaded = {"model": weights, "optimizer": state}
    checkpoint.load(loaded, checkpoint_id=folder[0])
    set_state_dict(other, others, model_state_dict=loaded["model"], optim_state_dict=loaded["optimizer"])
    agree(other, trained(), "torch.distributed.checkpoint")


def fully_sharded_before(rank: int, size: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = FullyShardedDataParallel(Network().cuda(), device_id=rank, use_orig_params=True)
        train(model, rank, size)
        with FullyShardedDataParallel.summon_full_params(model):
            agree(model, trained(), "FSDP")
        precision = MixedPrecision(param_dtype=torch.bfloat16)
        mixed = FullyShardedDataParallel(Network().cuda(), mixed_precision=precision)
        assert mixed(share(rank, size)[0]).dtype == torch.bfloat16


def plan() -> dict[str, ParallelStyle]:
    spare = ColwiseParallel(output_layouts=Replicate())
    return {"up": ColwiseParallel(), "down": RowwiseParallel(), "spare": spare}


def tensor_parallel(rank: int, size: int) -> None:
    mesh = init_device_mesh("cuda", (size,))
    model = parallelize_module(Network().cuda(), mesh, plan())
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for step in range(3):
        inputs, targets = (part.cuda() for part in batch(step))
        optimizer.zero_grad()
        loss_of(model(inputs), targets).backward()
        optimizer.step()
    agree(model, trained(), "tensor parallel")
    whole = torch.arange(float(size * 4)).view(size, 4)
    tensor = distribute_tensor(whole.cuda(), mesh, [Shard(0)])
    same(tensor.redistribute(mesh, [Shard(1)]).to_local(), whole.chunk(size, 1)[rank], "redistribute")
    same(
        (tensor @ tensor.T).redistribute(mesh, [Replicate()]).to_local(), whole @ whole.T, "DTensor's matmul"
    )


@contextmanager
def stage(rank: int, size: int, schedule: type) -> Iterator[tuple[nn.Module, object]]:
    """Yields this rank's layer and a pipeline schedule for it; there is one layer per rank."""
    layer = layers(size)[rank].cuda()
    yield layer, schedule(PipelineStage(layer, rank, size, torch.device("cuda", rank)), 4, loss_fn=loss_of)


def layers(size: int) -> list[nn.Module]:
    torch.manual_seed(1)
    return [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(size)]


def pipeline_parallel(rank: int, size: int) -> None:
    inputs, targets = batch()
    reference = nn.Sequential(*layers(size))
    loss_of(reference(inputs), targets).backward()
    for schedule in (ScheduleGPipe, Schedule1F1B):
        with stage(rank, size, schedule) as (layer, pipeline):
            if rank == 0:
                pipeline.step(inputs.cuda())
            elif rank == size - 1:
                losses: list[Tensor] = []
                pipeline.step(target=targets.cuda(), losses=losses)
                torch.testing.assert_close(sum(losses).cpu() / 4, loss_of(reference(inputs), targets))
            else:
                pipeline.step()
            gradients = [parameter.grad for parameter in layer.parameters()]
            same(gradients, [each.grad for each in reference[rank].parameters()], schedule.__name__)


def combined(rank: int, size: int) -> None:
    """Checks tensor parallelism within pairs and data parallelism between them."""
    mesh = init_device_mesh("cuda", (size // 2, 2), mesh_dim_names=("dp", "tp"))
    model = parallelize_module(Network().cuda(), mesh["tp"], plan())
    fully_shard(model, mesh=mesh["dp"])
    train(model, mesh["dp"].get_local_rank(), size // 2)
    agree(model, trained(), "two dimensions")


def run(rank: int, size: int) -> None:
    """Runs every part."""
    for part in (
        *(data_parallel, without_synchronizing, hooks, uneven, zero_redundancy, fully_sharded),
        *(fully_sharded_before, tensor_parallel, pipeline_parallel, combined),
    ):
        part(rank, size)


if __name__ == "__main__":
    ranks.run(4, run)
    print("done")
