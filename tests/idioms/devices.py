"""Devices: their names, comparison, selection and properties."""

import copy
import functools
import pickle

import torch

from idiom import run


def type_of_a_device():
    assert torch.device("cuda").type == "cuda"


def device_without_index():
    assert torch.device("cuda").index is None


def device_with_index():
    assert torch.device("cuda:1").index == 1


def device_from_type_and_index():
    assert torch.device("cuda", 1) == torch.device("cuda:1")


def device_from_keywords():
    assert torch.device(type="cuda", index=0) == torch.device("cuda:0")


def device_from_a_number():
    assert torch.device(1) == torch.device("cuda:1")


def device_from_a_device():
    assert torch.device(torch.device("cuda:0")) == torch.device("cuda:0")


def device_from_a_formatted_string():
    gpu = 0
    assert torch.device(f"cuda:{gpu}") == torch.device("cuda:%d" % gpu)


def cuda_if_available_else_cpu():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert device.type == "cuda"


def cuda_string_if_available_else_cpu():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    assert torch.zeros(1).to(device).is_cuda


def type_of_a_tensors_device():
    assert torch.zeros(2, device="cuda").device.type == "cuda"


def type_of_a_tensors_device_is_one_of_some():
    assert torch.zeros(2, device="cuda").device.type in ("cuda", "xpu", "mps")


def type_of_a_tensors_device_is_not_cpu():
    assert torch.zeros(2, device="cuda").device.type != "cpu"


def type_on_the_right_of_the_comparison():
    assert "cuda" == torch.zeros(2, device="cuda").device.type


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


def text_of_a_device_starts_with_cuda():
    assert str(torch.zeros(2, device="cuda").device).startswith("cuda")


def text_of_a_device_contains_cuda():
    assert "cuda" in str(torch.zeros(2, device="cuda").device)


def text_of_a_device_is_cuda_0():
    assert str(torch.zeros(2, device="cuda").device) == "cuda:0"


def formatted_device_is_parsed_again():
    x = torch.zeros(2, device="cuda:0")
    assert torch.device(f"{x.device}") == x.device


def device_of_a_tensor_equals_a_device():
    assert torch.zeros(2, device="cuda").device == torch.device("cuda:0")


def device_of_a_tensor_differs_from_another():
    assert torch.zeros(2, device="cuda:0").device != torch.device("cuda:1")


def device_of_a_tensor_differs_from_the_cpu():
    assert torch.zeros(2, device="cuda").device != torch.device("cpu")


def device_is_a_key():
    assert {torch.device("cuda:0"): "first"}[torch.zeros(2).cuda().device] == "first"


def devices_in_a_set():
    assert len({torch.device("cuda:0"), torch.device("cuda", 0), torch.zeros(1).cuda().device}) == 1


def tensors_are_on_one_device():
    a, b = torch.zeros(2).cuda(), torch.zeros(2, device="cuda")
    assert a.device == b.device and a.get_device() == b.get_device() == 0


def device_is_an_instance_of_device():
    assert isinstance(torch.device("cuda"), torch.device) and type(torch.device("cuda")) is torch.device


def device_is_dispatched_on():
    @functools.singledispatch
    def describe(value):
        return "something"

    @describe.register
    def _(value: torch.device):
        return "device"

    assert describe(torch.device("cuda")) == "device"


def device_or_none_is_a_type():
    assert isinstance(torch.device("cuda"), torch.device | None)


def device_is_pickled():
    assert pickle.loads(pickle.dumps(torch.device("cuda:1"))) == torch.device("cuda:1")


def device_is_copied():
    assert copy.deepcopy(torch.device("cuda")) == copy.copy(torch.device("cuda")) == torch.device("cuda")


def device_is_a_context_for_factories():
    with torch.device("cuda"):
        assert torch.zeros(2).is_cuda


def default_device_is_cuda():
    torch.set_default_device("cuda")
    assert torch.zeros(2).is_cuda and torch.get_default_device().type == "cuda"


def default_device_is_the_second():
    torch.set_default_device("cuda:1")
    assert torch.zeros(2).get_device() == 1


def devices_are_counted():
    assert torch.cuda.device_count() == 2


def current_device_is_a_number():
    assert torch.cuda.current_device() == 0


def current_device_is_used_as_a_device():
    assert torch.zeros(2, device=torch.cuda.current_device()).device == torch.device("cuda", 0)


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


def name_of_a_device():
    assert isinstance(torch.cuda.get_device_name(0), str) and torch.cuda.get_device_name() != ""


def name_of_a_device_by_string():
    assert torch.cuda.get_device_name("cuda:0") == torch.cuda.get_device_name(torch.device("cuda"))


def capability_is_two_numbers():
    major, minor = torch.cuda.get_device_capability()
    assert isinstance(major, int) and isinstance(minor, int)


def capability_is_compared():
    assert torch.cuda.get_device_capability(0) >= (7, 0)


def capability_chooses_by_its_first_number():
    assert torch.cuda.get_device_capability("cuda:0")[0] >= 7


def properties_tell_the_memory():
    assert torch.cuda.get_device_properties(0).total_memory > 2**28


def properties_tell_the_name():
    assert torch.cuda.get_device_properties("cuda").name == torch.cuda.get_device_name(0)


def properties_tell_the_processors():
    properties = torch.cuda.get_device_properties(torch.device("cuda:0"))
    assert properties.multi_processor_count > 0 and properties.warp_size > 0


def properties_tell_the_capability():
    properties = torch.cuda.get_device_properties(0)
    assert (properties.major, properties.minor) == torch.cuda.get_device_capability(0)


def properties_are_printed():
    assert "name=" in repr(torch.cuda.get_device_properties(0))


def architectures_are_listed():
    assert isinstance(torch.cuda.get_arch_list(), list)


def peers_are_asked_for():
    assert torch.cuda.can_device_access_peer(0, 1) in (True, False)


def cuda_is_initialized_after_use():
    torch.zeros(1).cuda()
    assert torch.cuda.is_initialized()


def cuda_is_initialized_by_hand():
    assert torch.cuda.init() is None


def module_of_a_device():
    assert torch.get_device_module("cuda").current_device() == 0


def module_of_a_tensors_device():
    device = torch.zeros(1).cuda().device
    assert getattr(torch, device.type).is_available()


def accelerator_is_cuda():
    assert torch.accelerator.is_available() and torch.accelerator.current_accelerator().type == "cuda"


def accelerator_counts_devices():
    assert torch.accelerator.device_count() == torch.cuda.device_count()


def accelerator_follows_the_current_device():
    torch.cuda.set_device(1)
    assert torch.accelerator.current_device_index() == 1


if __name__ == "__main__":
    run(globals())
