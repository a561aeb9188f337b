"""Errors that CUDA raises, and how scripts catch them."""

import torch

from idiom import run


def _refusal(action, *kinds):
    try:
        action()
    except kinds as error:
        return str(error)
    raise AssertionError("nothing was refused")


def device_without_a_number_after_its_colon():
    assert _refusal(lambda: torch.device("cuda:"), RuntimeError)


def device_with_a_word_for_a_number():
    assert "cuda:x" in _refusal(lambda: torch.device("cuda:x"), RuntimeError)


def device_misspelled():
    assert _refusal(lambda: torch.device("cudax"), RuntimeError)


def device_with_a_negative_number():
    assert _refusal(lambda: torch.zeros(1, device="cuda:-2"), RuntimeError)


def device_out_of_range_for_a_factory():
    assert _refusal(lambda: torch.zeros(1, device="cuda:99"), RuntimeError)


def device_out_of_range_for_a_move():
    assert _refusal(lambda: torch.zeros(1).cuda(99), RuntimeError)


def device_out_of_range_for_to():
    assert _refusal(lambda: torch.zeros(1).to("cuda:99"), RuntimeError)


def device_out_of_range_for_set_device():
    assert _refusal(lambda: torch.cuda.set_device(99), RuntimeError)


def device_out_of_range_for_a_module():
    assert _refusal(lambda: torch.nn.Linear(1, 1).cuda(99), RuntimeError)


def device_out_of_range_for_its_name():
    assert _refusal(lambda: torch.cuda.get_device_name(99), AssertionError, RuntimeError)


def device_out_of_range_for_its_properties():
    assert _refusal(lambda: torch.cuda.get_device_properties(99), AssertionError, RuntimeError)


def device_that_is_none_of_cudas():
    assert _refusal(lambda: torch.cuda.synchronize("cpu"), ValueError)


def stream_of_the_cpu():
    assert _refusal(lambda: torch.cuda.current_stream("cpu"), ValueError)


def tensor_of_the_host_for_a_module_on_the_device():
    module = torch.nn.Linear(2, 2).cuda()
    assert "device" in _refusal(lambda: module(torch.ones(1, 2)), RuntimeError)


def accelerator_error_is_a_runtime_error():
    assert issubclass(torch.AcceleratorError, RuntimeError)


def cuda_error_is_an_exception():
    assert issubclass(torch.cuda.CudaError, RuntimeError)


def memory_of_a_device_out_of_range():
    assert _refusal(lambda: torch.cuda.mem_get_info(99), AssertionError, RuntimeError)


def autocast_to_a_wrong_device():
    assert _refusal(lambda: torch.autocast("cudax").__enter__(), RuntimeError)


if __name__ == "__main__":
    run(globals())
