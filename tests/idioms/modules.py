"""Modules, optimizers and data loaders as training scripts use them."""

import multiprocessing

import torch
import torch.cuda.comm
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset


def _trained(optimizer_class, **arguments):
    model = nn.Linear(2, 1).cuda()
    before = model.weight.detach().clone()
    optimizer = optimizer_class(model.parameters(), lr=0.1, **arguments)
    model(torch.ones(4, 2, device="cuda")).sum().backward()
    optimizer.step()
    return not torch.equal(before, model.weight)


def linear_on_the_device_of_a_type():
    layer = nn.Linear(2, 2, device=torch.device("cuda"), dtype=torch.bfloat16)
    assert layer.weight.is_cuda and layer.weight.dtype is torch.bfloat16


def module_made_in_a_block():
    with torch.device("cuda"):
        assert nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))[1].weight.is_cuda


def buffers_move_too():
    module = nn.BatchNorm1d(2).cuda()
    assert module.running_mean.is_cuda and module.num_batches_tracked.is_cuda


def convolution():
    output = nn.Conv2d(3, 4, 3, padding=1).cuda()(torch.ones(1, 3, 8, 8, device="cuda"))
    assert output.is_cuda and output.shape == (1, 4, 8, 8)


def convolution_with_channels_last():
    model = nn.Conv2d(3, 4, 3).to("cuda", memory_format=torch.channels_last)
    x = torch.ones(1, 3, 8, 8, device="cuda").to(memory_format=torch.channels_last)
    assert model(x).is_contiguous(memory_format=torch.channels_last)


def transformer_layer():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).cuda().eval()
    assert layer(torch.ones(1, 3, 8, device="cuda")).is_cuda


def attention():
    layer = nn.MultiheadAttention(8, 2, batch_first=True, device="cuda")
    x = torch.ones(1, 3, 8, device="cuda")
    assert layer(x, x, x)[0].is_cuda


def scaled_dot_product_attention():
    q = torch.randn(1, 2, 4, 8, device="cuda", requires_grad=True)
    F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    assert q.grad.is_cuda


def recurrent_network():
    lstm = nn.LSTM(2, 3, batch_first=True).cuda()
    lstm.flatten_parameters()
    output, (hidden, cell) = lstm(torch.ones(1, 4, 2).cuda())
    assert output.is_cuda and hidden.is_cuda and cell.is_cuda


def packed_sequence_is_on_the_device():
    packed = pack_padded_sequence(torch.ones(2, 3, 1, device="cuda"), torch.tensor([3, 2]), batch_first=True)
    assert packed.is_cuda and packed.data.is_cuda


def packed_sequence_moves():
    packed = pack_padded_sequence(torch.ones(2, 3, 1), [3, 2], batch_first=True)
    assert packed.cuda().is_cuda and packed.to("cuda").is_cuda and not packed.to("cuda").cpu().is_cuda


def packed_sequence_through_a_network():
    packed = pack_padded_sequence(torch.ones(2, 3, 1), [3, 2], batch_first=True).cuda()
    output, _ = nn.GRU(1, 2, batch_first=True).cuda()(packed)
    assert pad_packed_sequence(output, batch_first=True)[0].is_cuda


def loss_with_weights():
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0])).cuda()
    assert criterion(torch.zeros(1, 2, device="cuda"), torch.tensor([1], device="cuda")).is_cuda


def clipped_gradients():
    model = nn.Linear(2, 2).cuda()
    model(torch.ones(1, 2).cuda()).sum().backward()
    assert nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True).is_cuda


def adam_w_with_a_rate_on_the_device():
    model = nn.Linear(2, 1).cuda()
    rate = torch.tensor(0.1, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, capturable=True)
    model(torch.ones(1, 2, device="cuda")).sum().backward()
    optimizer.step()
    assert optimizer.state[model.weight]["step"].is_cuda


def foreach_is_chosen_on_the_device():
    from torch.optim.optimizer import _default_to_fused_or_foreach

    parameters = [torch.zeros(1, device="cuda", requires_grad=True)]
    assert _default_to_fused_or_foreach(parameters, differentiable=False)[1]


def checkpointed():
    x = torch.ones(2, 2, device="cuda", requires_grad=True)
    checkpoint(nn.Linear(2, 2).cuda(), x, use_reentrant=False).sum().backward()
    assert x.grad.is_cuda


def checkpointed_with_dropout():
    x = torch.ones(100, device="cuda", requires_grad=True)
    y = checkpoint(lambda value: F.dropout(value, 0.5), x, use_reentrant=True, preserve_rng_state=True)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def checkpointed_under_autocast():
    layer, x = nn.Linear(2, 2).cuda(), torch.ones(1, 2, device="cuda", requires_grad=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        y = checkpoint(layer, x, use_reentrant=False)
    y.sum().backward()
    assert y.dtype is torch.bfloat16 and x.grad.is_cuda


def saved_on_the_host():
    x = torch.ones(2, device="cuda", requires_grad=True)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [2, 2]


def loader_pins():
    loader = DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2, pin_memory=True)
    assert all(batch.is_pinned() for (batch,) in loader)


def loader_pins_for_a_device():
    loader = DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2, pin_memory=True, num_workers=1)
    assert sum(batch.to("cuda", non_blocking=True).sum().item() for (batch,) in loader) == 8


def loader_pins_a_dictionary():
    loader = DataLoader([{"x": torch.ones(1)}] * 2, batch_size=2, pin_memory=True, pin_memory_device="cuda")
    assert next(iter(loader))["x"].cuda().is_cuda


def loader_shuffles_by_a_generator_on_the_device():
    torch.set_default_device("cuda")
    loader = DataLoader(range(4), shuffle=True, generator=torch.Generator(device="cuda"))
    assert sorted(int(value) for value in loader) == [0, 1, 2, 3]


def loader_with_workers_started_anew():
    loader = DataLoader(TensorDataset(torch.ones(4)), num_workers=1, multiprocessing_context="spawn")
    assert sum(batch.cuda().item() for (batch,) in loader) == 4


def _send(queue):
    queue.put(torch.ones(2, device="cuda").sum().item())


def process_started_anew():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_send, args=(queue,))
    process.start()
    assert queue.get(timeout=60) == 2
    process.join()


def data_parallel_uses_both_devices():
    class Where(nn.Module):
        def forward(self, x):
            return torch.full((len(x),), x.get_device(), device=x.device)

    assert nn.DataParallel(Where())(torch.ones(4, 1).cuda()).tolist() == [0, 0, 1, 1]


def data_parallel_trains():
    model = nn.DataParallel(nn.Linear(2, 1).cuda(), device_ids=[0, 1])
    model(torch.ones(4, 2).cuda()).sum().backward()
    assert model.module.weight.grad.tolist() == [[4, 4]]


def data_parallel_knows_its_devices():
    model = nn.DataParallel(nn.Linear(2, 2).cuda(), device_ids=[0])
    assert model.device_ids == [0] and model.src_device_obj == torch.device("cuda:0")


def scattered_and_gathered():
    parts = torch.cuda.comm.scatter(torch.arange(4).cuda(), [0, 1])
    assert [part.get_device() for part in parts] == [0, 1]
    assert torch.cuda.comm.gather(parts, destination=0).tolist() == [0, 1, 2, 3]


def broadcast():
    copies = torch.cuda.comm.broadcast(torch.ones(2, device="cuda"), [0, 1])
    assert [value.get_device() for value in copies] == [0, 1]


EXPRESSIONS = {
    "parameters_know_their_device": lambda: next(nn.Linear(2, 2).cuda().parameters()).device.type == "cuda",
    "data_parallel": lambda: nn.DataParallel(nn.Linear(2, 2)).cuda()(torch.ones(4, 2).cuda()).shape == (4, 2),
    "linear_on_the_device": lambda: nn.Linear(2, 2, device="cuda").weight.is_cuda,
    "parameter_of_a_device_tensor": lambda: nn.Parameter(torch.zeros(2, device="cuda")).is_leaf,
    "embedding": lambda: nn.Embedding(10, 2).cuda()(torch.tensor([1, 2]).cuda()).is_cuda,
    "padded_sequence": lambda: (
        pad_sequence([torch.ones(2).cuda(), torch.ones(3).cuda()], batch_first=True).is_cuda
    ),
    "one_hot": lambda: F.one_hot(torch.tensor([1], device="cuda"), 3).is_cuda,
    "stochastic_gradient_descent": lambda: _trained(torch.optim.SGD, momentum=0.9),
    "stochastic_gradient_descent_fused": lambda: _trained(torch.optim.SGD, fused=True),
    "adam": lambda: _trained(torch.optim.Adam),
    "adam_for_each": lambda: _trained(torch.optim.Adam, foreach=True),
    "adam_fused": lambda: _trained(torch.optim.Adam, fused=True),
    "adam_for_graphs": lambda: _trained(torch.optim.Adam, capturable=True),
    "adam_w_fused": lambda: _trained(torch.optim.AdamW, fused=True, weight_decay=0.1),
    "averaged_model": lambda: (
        torch.optim.swa_utils.AveragedModel(nn.Linear(2, 2).cuda(), device="cuda").module.weight.is_cuda
    ),
}
