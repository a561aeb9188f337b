"""What torch says of its kernels."""

import torch


def test_an_operator_without_a_kernel_for_the_device_has_none() -> None:
    ask = torch._C._dispatch_has_computed_kernel_for_dispatch_key
    library = torch.library.Library("morph_questions", "DEF")
    for name in ("of_the_host", "of_cuda", "of_all"):
        library.define(f"{name}(Tensor x) -> Tensor")
    library.impl("of_the_host", torch.neg, "CPU")
    library.impl("of_cuda", torch.neg, "CUDA")
    library.impl("of_all", torch.neg, "CompositeExplicitAutograd")
    answers = [ask(f"morph_questions::{name}", "CUDA") for name in ("of_the_host", "of_cuda", "of_all")]
    assert answers == [False, True, True]
    assert ask("morph_questions::of_the_host", "CPU")
    assert ask("aten::add.Tensor", "CUDA")


def test_a_convolution_is_cudnns_unless_cudnn_is_switched_off() -> None:
    image, weight = torch.rand(1, 4, 8, 8, device="cuda"), torch.rand(4, 4, 3, 3, device="cuda")
    rest = [1, 1], [0, 0], [1, 1]

    def chosen(image: torch.Tensor = image, transposed: bool = False) -> str:
        backend = torch._C._select_conv_backend(image, weight, None, *rest, transposed, [0, 0], 1)
        return str(backend.name)

    names = [chosen(), chosen(transposed=True), chosen(image[:0])]
    with torch.backends.cudnn.flags(enabled=False):
        names.append(chosen())
    assert names == ["Cudnn", "CudnnTranspose", "Empty", "Slow2d"]
