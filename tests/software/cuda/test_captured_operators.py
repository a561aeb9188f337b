"""Every operator of torch's own list, captured with its gradients: a replay computes what the call does."""

import collections
import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_iter, tree_map

SAMPLES = 2  # of each operator
PARTS = 4  # of all operators: each takes half a minute
# Their results are drawn, or what no kernel has written
DRAWN = "rand", "dropout", "normal", "empty", "rrelu", "fractional", "lowrank", "bernoulli", "multinomial"
DRAWN += "cauchy", "exponential", "geometric", "uniform", "multi_head_attention_forward"
SPARSE = "sparse", "to_sparse"  # graphs hold dense memory


def copied(values: Any) -> Any:
    def copy(value: Any) -> Any:
        own = isinstance(value, torch.Tensor)
        return value.detach().clone().requires_grad_(value.requires_grad) if own else value

    return tree_map(copy, values)


def tensors(values: Any) -> list[torch.Tensor]:
    return [value for value in tree_iter(values) if isinstance(value, torch.Tensor)]


def call(operator: Any, given: Any) -> list[torch.Tensor]:
    """Calls an operator; returns the results, and the gradients of what has some."""
    results = tensors(operator(given[0], *given[1], **given[2]))
    outputs = [each for each in results if each.requires_grad]
    inputs = [each for each in tensors(given) if each.requires_grad]
    grads: Any = ()
    if outputs and inputs:
        sums = [each.abs().sum() for each in outputs]
        grads = torch.autograd.grad(sums, inputs, allow_unused=True)
    return [each.detach() for each in (*results, *tensors(grads))]


def samples(part: int) -> Iterator[tuple[Any, Any]]:
    from torch.testing._internal.common_methods_invocations import op_db

    for operator in op_db[part::PARTS]:
        if any(word in operator.name for word in (*DRAWN, *SPARSE)):
            continue
        dtype = (
            torch.float32 if torch.float32 in operator.dtypes else next(iter(operator.dtypes), torch.float32)
        )
        grad = operator.supports_autograd and dtype == torch.float32
        drawn = iter(operator.sample_inputs("cuda", dtype, requires_grad=grad))
        for sample in itertools.islice(drawn, SAMPLES):
            if not sample.kwargs.get("dropout_p"):
                yield operator, (sample.input, sample.args, sample.kwargs)


def is_refused(error: RuntimeError) -> bool:
    words = "error during capture", "graph capture unless the CPU tensor is pinned"
    return any(each in str(error) for each in words)


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_a_replay_computes_what_the_call_does(part: int) -> None:
    warnings.simplefilter("ignore")
    counts: collections.Counter[str] = collections.Counter()
    for operator, given in samples(part):
        try:
            expected = call(operator, copied(given))
        except (RuntimeError, NotImplementedError):
            continue  # what cannot be called has no graph
        own, graph = copied(given), torch.cuda.CUDAGraph()
        torch.manual_seed(42)  # as torch's wrapper_set_seed does in the capture, which takes no other
        try:
            with torch.cuda.graph(graph):
                results = call(operator, own)
        except RuntimeError as error:
            if not is_refused(error):
                raise AssertionError(operator.name) from error
            counts["refused"] += 1
            continue
        for before, after in zip(tensors(given), tensors(own), strict=True):
            torch.testing.assert_close(before, after, rtol=0, atol=0, equal_nan=True)
        graph.replay()
        torch.testing.assert_close(
            results,
            expected,
            equal_nan=True,
            check_device=False,  # the seeds of efficient attention are on the device in a capture only
            msg=lambda text, name=operator.name: f"{name}: {text}",
        )
        counts["replayed"] += 1
    print(dict(counts))
    assert counts["replayed"] > 250
    assert counts["refused"] < 30
