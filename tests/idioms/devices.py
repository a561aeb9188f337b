"""Devices: their names, comparison, selection and properties."""

import copy
import functools
import pickle

import torch


def device_from_a_formatted_string():
    gpu = 0
    assert torch.device(f"cuda:{gpu}") == torch.device("cuda:%d" % gpu)


def type_kept_in_a_variable():
    device_type = torch.zeros(2, device="cuda").device.type
    assert device_type == "cuda"


def type_matched():
    match torch.zeros(2, device="cuda").device.type:
        case "cuda":
            found = True
        case _:
            found = False
    assert found


def formatted_device_is_parsed_again():
    x = torch.zeros(2, device="cuda:0")
    assert torch.device(f"{x.device}") == x.device


def tensors_are_on_one_device():
    a, b = torch.zeros(2).cuda(), torch.zeros(2, device="cuda")
    assert a.device == b.device and a.get_device() == b.get_device() == 0


def device_is_dispatched_on():
    @functools.singledispatch
    def describe(value):
        return "something"

    @describe.register
    def _(value: torch.device):
        return "device"

    assert describe(torch.device("cuda")) == "device"


def device_is_a_context_for_factories():
    with torch.device("cuda"):
        assert torch.zeros(2).is_cuda


def default_device_is_cuda():
    torch.set_default_device("cuda")
    assert torch.zeros(2).is_cuda and torch.get_default_device().type == "cuda"


def default_device_is_the_second():
    torch.set_default_device("cuda:1")
    assert torch.zeros(2).get_device() == 1


def current_device_is_set():
    torch.cuda.set_device(1)
    assert torch.cuda.current_device() == 1 and torch.zeros(2, device="cuda").get_device() == 1


def current_device_is_set_by_string():
    torch.cuda.set_device("cuda:1")
    assert torch.zeros(2).cuda().get_device() == 1


def current_device_is_set_by_device():
    torch.cuda.set_device(torch.device("cuda:0"))
    assert torch.cuda.current_device() == 0


def current_device_in_a_block():
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == 1 and torch.zeros(2).cuda().get_device() == 1
    assert torch.cuda.current_device() == 0


def current_device_in_a_block_by_device():
    with torch.cuda.device(torch.device("cuda:1")):
        assert torch.cuda.current_device() == 1


def device_of_a_tensor_in_a_block():
    with torch.cuda.device_of(torch.zeros(2, device="cuda:1")):
        assert torch.cuda.current_device() == 1


def negative_device_in_a_block_changes_nothing():
    with torch.cuda.device(-1):
        assert torch.cuda.current_device() == 0


def capability_is_two_numbers():
    major, minor = torch.cuda.get_device_capability()
    assert isinstance(major, int) and isinstance(minor, int)


def properties_tell_the_processors():
    properties = torch.cuda.get_device_properties(torch.device("cuda:0"))
    assert properties.multi_processor_count > 0 and properties.warp_size > 0


def properties_tell_the_capability():
    properties = torch.cuda.get_device_properties(0)
    assert (properties.major, properties.minor) == torch.cuda.get_device_capability(0)


def cuda_is_initialized_after_use():
    torch.zeros(1).cuda()
    assert torch.cuda.is_initialized()


def accelerator_follows_the_current_device():
    torch.cuda.set_device(1)
    assert torch.accelerator.current_device_index() == 1


EXPRESSIONS = {
    "cuda_if_available_else_cpu": lambda: (
        torch.device("cuda" if torch.cuda.is_available() else "cpu").type == "cuda"
    ),
    "cuda_string_if_available_else_cpu": lambda: (
        torch.zeros(1).to("cuda" if torch.cuda.is_available() else "cpu").is_cuda
    ),
    "module_of_a_tensors_device": lambda: getattr(torch, torch.zeros(1).cuda().device.type).is_available(),
    "type_of_a_device": lambda: torch.device("cuda").type == "cuda",
    "device_without_index": lambda: torch.device("cuda").index is None,
    "device_with_index": lambda: torch.device("cuda:1").index == 1,
    "device_from_type_and_index": lambda: torch.device("cuda", 1) == torch.device("cuda:1"),
    "device_from_keywords": lambda: torch.device(type="cuda", index=0) == torch.device("cuda:0"),
    "device_from_a_number": lambda: torch.device(1) == torch.device("cuda:1"),
    "device_from_a_device": lambda: torch.device(torch.device("cuda:0")) == torch.device("cuda:0"),
    "type_of_a_tensors_device": lambda: torch.zeros(2, device="cuda").device.type == "cuda",
    "type_of_a_tensors_device_is_one_of_some": lambda: (
        torch.zeros(2, device="cuda").device.type in ("cuda", "xpu", "mps")
    ),
    "type_of_a_tensors_device_is_not_cpu": lambda: torch.zeros(2, device="cuda").device.type != "cpu",
    "type_on_the_right_of_the_comparison": lambda: "cuda" == torch.zeros(2, device="cuda").device.type,
    "text_of_a_device_starts_with_cuda": lambda: str(torch.zeros(2, device="cuda").device).startswith("cuda"),
    "text_of_a_device_contains_cuda": lambda: "cuda" in str(torch.zeros(2, device="cuda").device),
    "text_of_a_device_is_cuda_0": lambda: str(torch.zeros(2, device="cuda").device) == "cuda:0",
    "device_of_a_tensor_equals_a_device": lambda: (
        torch.zeros(2, device="cuda").device == torch.device("cuda:0")
    ),
    "device_of_a_tensor_differs_from_another": lambda: (
        torch.zeros(2, device="cuda:0").device != torch.device("cuda:1")
    ),
    "device_of_a_tensor_differs_from_the_cpu": lambda: (
        torch.zeros(2, device="cuda").device != torch.device("cpu")
    ),
    "device_is_a_key": lambda: {torch.device("cuda:0"): "first"}[torch.zeros(2).cuda().device] == "first",
    "devices_in_a_set": lambda: (
        len({torch.device("cuda:0"), torch.device("cuda", 0), torch.zeros(1).cuda().device}) == 1
    ),
    "device_is_an_instance_of_device": lambda: (
        isinstance(torch.device("cuda"), torch.device) and type(torch.device("cuda")) is torch.device
    ),
    "device_or_none_is_a_type": lambda: isinstance(torch.device("cuda"), torch.device | None),
    "device_is_pickled": lambda: pickle.loads(pickle.dumps(torch.device("cuda:1"))) == torch.device("cuda:1"),
    "device_is_copied": lambda: (
        copy.deepcopy(torch.device("cuda")) == copy.copy(torch.device("cuda")) == torch.device("cuda")
    ),
    "devices_are_counted": lambda: torch.cuda.device_count() == 2,
    "current_device_is_a_number": lambda: torch.cuda.current_device() == 0,
    "current_device_is_used_as_a_device": lambda: (
        torch.zeros(2, device=torch.cuda.current_device()).device == torch.device("cuda", 0)
    ),
    "name_of_a_device": lambda: (
        isinstance(torch.cuda.get_device_name(0), str) and torch.cuda.get_device_name() != ""
    ),
    "name_of_a_device_by_string": lambda: (
        torch.cuda.get_device_name("cuda:0") == torch.cuda.get_device_name(torch.device("cuda"))
    ),
    "capability_is_compared": lambda: torch.cuda.get_device_capability(0) >= (7, 0),
    "capability_chooses_by_its_first_number": lambda: torch.cuda.get_device_capability("cuda:0")[0] >= 7,
    "properties_tell_the_memory": lambda: torch.cuda.get_device_properties(0).total_memory > 2**28,
    "properties_tell_the_name": lambda: (
        torch.cuda.get_device_properties("cuda").name == torch.cuda.get_device_name(0)
    ),
    "properties_are_printed": lambda: "name=" in repr(torch.cuda.get_device_properties(0)),
    "architectures_are_listed": lambda: isinstance(torch.cuda.get_arch_list(), list),
    "peers_are_asked_for": lambda: torch.cuda.can_device_access_peer(0, 1) in (True, False),
    "cuda_is_initialized_by_hand": lambda: torch.cuda.init() is None,
    "module_of_a_device": lambda: torch.get_device_module("cuda").current_device() == 0,
    "accelerator_is_cuda": lambda: (
        torch.accelerator.is_available() and torch.accelerator.current_accelerator().type == "cuda"
    ),
    "accelerator_counts_devices": lambda: torch.accelerator.device_count() == torch.cuda.device_count(),
}
