"""Passes tensors to a spawned process and back, as on CUDA."""

import gc

import torch
import torch.multiprocessing as multiprocessing

DEVICE = "cuda:1"


def change(queue, answers, released):
    """The other process: it changes the tensors it receives, sends one of its own, and stays alive."""
    whole, view, again, parameter, empty = queue.get()
    assert (whole.device, view.device) == (torch.device(DEVICE), torch.device(DEVICE))
    assert (
        view.untyped_storage().data_ptr()
        == whole.untyped_storage().data_ptr()
        == again.untyped_storage().data_ptr()
    )
    assert isinstance(parameter, torch.nn.Parameter)
    assert parameter.requires_grad
    assert empty.numel() == 0
    assert empty.is_cuda
    view.add_(1)
    event = torch.cuda.Event.from_ipc_handle(torch.device(DEVICE), queue.get())
    event.synchronize()
    assert event.query()
    answers.put("waiting")
    pickled = queue.get()  # recorded once more by the sender, behind a second's work
    assert not event.query()
    assert not pickled.query()
    pickled.synchronize()
    assert event.query()
    own = torch.full((3,), 7.0, device="cuda:0")
    answers.put(own)
    released.wait(60)
    assert own.tolist() == [7, 7, 8]
    answers.put(whole.tolist())
    try:
        multiprocessing.reductions.reduce_tensor(whole)
    except RuntimeError as error:
        answers.put(str(error))


def memory():
    return torch.cuda.memory_allocated(DEVICE)


def main():
    context = multiprocessing.get_context("spawn")
    queue, answers, released = context.Queue(), context.Queue(), context.Event()
    process = context.Process(target=change, args=(queue, answers, released))
    process.start()
    tensor, parameter = torch.zeros(4, device=DEVICE), torch.nn.Parameter(torch.ones(2, device=DEVICE))
    queue.put((tensor, tensor[1:], tensor.view(2, 2), parameter, torch.empty(0, device=DEVICE)))
    event = torch.cuda.Event(interprocess=True)
    event.record()
    queue.put(event.ipc_handle())
    assert answers.get() == "waiting"
    torch.cuda._sleep(int(1.5e9))
    event.record()
    queue.put(event)
    theirs = answers.get()
    assert theirs.device == torch.device("cuda:0")
    theirs[2] += 1
    assert tensor.tolist() == [0, 1, 1, 1]
    assert tensor.is_shared()
    assert tensor.share_memory_() is tensor

    before = memory()
    del tensor
    gc.collect()
    assert memory() == before, "memory in the hands of a receiver is not used again"
    others = [torch.full((4,), 9.0, device=DEVICE) for _ in range(8)]
    released.set()
    assert answers.get() == [0, 1, 1, 1]
    print(answers.get(), flush=True)
    del theirs
    process.join()
    taken = memory()
    torch.cuda.ipc_collect()
    assert memory() < taken, "and is when the receivers are gone"
    assert others[0].tolist() == [9] * 4
    assert process.exitcode == 0
    print("done")


if __name__ == "__main__":
    main()
