"""Errors that CUDA raises, and how scripts catch them."""

import torch

from idiom import refusal


def tensor_of_the_host_for_a_module_on_the_device():
    module = torch.nn.Linear(2, 2).cuda()
    assert "device" in refusal(lambda: module(torch.ones(1, 2)), RuntimeError)


EXPRESSIONS = {
    "device_without_a_number_after_its_colon": lambda: refusal(lambda: torch.device("cuda:"), RuntimeError),
    "device_with_a_word_for_a_number": lambda: (
        "cuda:x" in refusal(lambda: torch.device("cuda:x"), RuntimeError)
    ),
    "device_misspelled": lambda: refusal(lambda: torch.device("cudax"), RuntimeError),
    "device_with_a_negative_number": lambda: refusal(lambda: torch.zeros(1, device="cuda:-2"), RuntimeError),
    "device_out_of_range_for_a_factory": lambda: refusal(
        lambda: torch.zeros(1, device="cuda:99"), RuntimeError
    ),
    "device_out_of_range_for_a_move": lambda: refusal(lambda: torch.zeros(1).cuda(99), RuntimeError),
    "device_out_of_range_for_to": lambda: refusal(lambda: torch.zeros(1).to("cuda:99"), RuntimeError),
    "device_out_of_range_for_set_device": lambda: refusal(lambda: torch.cuda.set_device(99), RuntimeError),
    "device_out_of_range_for_a_module": lambda: refusal(lambda: torch.nn.Linear(1, 1).cuda(99), RuntimeError),
    "device_out_of_range_for_its_name": lambda: refusal(
        lambda: torch.cuda.get_device_name(99), AssertionError, RuntimeError
    ),
    "device_out_of_range_for_its_properties": lambda: refusal(
        lambda: torch.cuda.get_device_properties(99), AssertionError, RuntimeError
    ),
    "device_that_is_none_of_cudas": lambda: refusal(lambda: torch.cuda.synchronize("cpu"), ValueError),
    "stream_of_the_cpu": lambda: refusal(lambda: torch.cuda.current_stream("cpu"), ValueError),
    "accelerator_error_is_a_runtime_error": lambda: issubclass(torch.AcceleratorError, RuntimeError),
    "cuda_error_is_an_exception": lambda: issubclass(torch.cuda.CudaError, RuntimeError),
    "memory_of_a_device_out_of_range": lambda: refusal(
        lambda: torch.cuda.mem_get_info(99), AssertionError, RuntimeError
    ),
    "autocast_to_a_wrong_device": lambda: refusal(lambda: torch.autocast("cudax").__enter__(), RuntimeError),
}
