"""Generating tokens with a model that keeps keys and values."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, distributed


@dataclass
class InferenceParams:
    """Where a generation stands, and the caches of its layers.

    Attributes:
        max_seqlen: The most tokens of a sequence.
        max_batch_size: The most sequences.
        seqlen_offset: How many tokens were processed.
        batch_size_offset: Which of the cached sequences is the first.
        key_value_memory_dict: The cache of each layer.
        lengths_per_sample: int32 of shape (batch,): how many tokens of each sequence were processed, if
            they differ.
    """

    max_seqlen: int
    max_batch_size: int
    seqlen_offset: int = 0
    batch_size_offset: int = 0
    key_value_memory_dict: dict[Any, Any] = field(default_factory=dict)
    lengths_per_sample: Tensor | None = None

    def reset(self, max_seqlen: int, max_batch_size: int) -> None:
        """Begin anew, with the same caches."""
        self.max_seqlen = max_seqlen
        self.max_batch_size = max_batch_size
        self.seqlen_offset = 0
        if self.lengths_per_sample is not None:
            self.lengths_per_sample.zero_()


@dataclass
class Generated:
    """What was generated.

    Attributes:
        sequences: The tokens, the given ones first, of shape (batch, tokens).
        scores: The logits of each generated token, of shape (batch, classes).
    """

    sequences: Tensor
    scores: tuple[Tensor, ...] | None


def modify_logits_for_top_k_filtering(logits: Tensor, top_k: int) -> None:
    """Set all but the ``top_k`` largest logits of each row to minus infinity, in place."""
    least = torch.topk(logits, top_k)[0][..., -1, None]
    logits.masked_fill_(logits < least, float("-inf"))


def modify_logits_for_top_p_filtering(logits: Tensor, top_p: float) -> None:
    """Keep the likeliest tokens of each row that together have the probability ``top_p``, in place."""
    if not 0.0 < top_p < 1.0:
        return
    ascending, order = torch.sort(logits, descending=False)
    dropped = ascending.softmax(dim=-1).cumsum(dim=-1) <= 1 - top_p
    logits.masked_fill_(dropped.scatter(1, order, dropped), float("-inf"))


def sample(logits: Tensor, top_k: int = 1, top_p: float = 0.0, temperature: float = 1.0) -> Tensor:
    """Draw a token for each row.

    Args:
        logits: Of shape (batch, classes).
        top_k: How many of the likeliest tokens are drawn from; 0 for all, 1 for the likeliest.
        top_p: The probability that those drawn from have together, after ``top_k``; 0 for all.
        temperature: What the logits are divided by.

    Returns:
        Of shape (batch,).
    """
    if top_k == 1:
        return logits.argmax(dim=-1)
    assert top_p <= 1.0, "top-p should be in (0, 1]."
    best, indices = torch.topk(logits, min(top_k or logits.shape[-1], logits.shape[-1]), dim=-1)
    best = best / temperature
    modify_logits_for_top_p_filtering(best, top_p)
    drawn = torch.multinomial(torch.softmax(best, dim=-1), num_samples=1)
    return indices.gather(1, drawn)[:, 0]


@torch.inference_mode()
def decode(
    input_ids: Tensor,
    model: Any,
    max_length: int,
    top_k: int = 1,
    top_p: float = 0.0,
    temperature: float = 1.0,
    eos_token_id: int | None = None,
    teacher_outputs: Tensor | None = None,
    vocab_size: int | None = None,
    tensor_parallel: int = 1,
    cg: bool = False,
    enable_timing: bool = False,
) -> Generated:
    """Generate tokens, for sequences of one length.

    Args:
        input_ids: Of shape (batch, tokens).
        model: Called with tokens, ``position_ids``, ``inference_params`` and ``num_last_tokens``; returns
            logits.
        max_length: How many tokens there are in the end.
        top_k: See :func:`sample`.
        top_p: See :func:`sample`.
        temperature: See :func:`sample`.
        eos_token_id: The token that ends a generation once all sequences have it.
        teacher_outputs: Tokens to take in place of drawn ones, of shape (batch, tokens).
        vocab_size: How many of the classes are tokens.
        tensor_parallel: How many processes the model is spread over.
        cg: Must be false: capturing graphs of a model is not served.
        enable_timing: Whether to print the time that it takes.

    Raises:
        NotImplementedError: With ``cg``.
    """
    if cg:
        raise NotImplementedError("morph does not serve cg=True of flash_attn.utils.generation.decode")
    params = InferenceParams(max_seqlen=max_length, max_batch_size=len(input_ids))
    taught = 0 if teacher_outputs is None else teacher_outputs.shape[1]
    start, scores, sequences = time.perf_counter(), [], [input_ids]
    while not _ends(sequences[-1], params, max_length, eos_token_id):
        scores.append(_logits(model, sequences[-1], params)[..., :vocab_size])
        params.seqlen_offset += sequences[-1].shape[1]
        if teacher_outputs is not None and params.seqlen_offset < taught:
            token = teacher_outputs[:, params.seqlen_offset]
        else:
            token = sample(scores[-1], top_k=top_k, top_p=top_p, temperature=temperature)
        sequences.append(token[:, None])
    result = torch.cat(sequences, dim=1)
    if enable_timing:
        if tensor_parallel > 1:
            distributed.barrier()
        result.cpu()  # waits for the device
        print(f"Prompt processing + decoding time: {(time.perf_counter() - start) * 1000:.0f}ms")
    return Generated(result, tuple(scores))


class GenerationMixin:
    """Generation for a model that :func:`decode` can call."""

    def allocate_inference_cache(
        self, batch_size: int, max_seqlen: int, dtype: torch.dtype | None = None, **kwargs: Any
    ) -> Any:
        """Return empty caches; a model has to define it."""
        raise NotImplementedError

    def generate(
        self,
        input_ids: Tensor,
        max_length: int,
        top_k: int = 1,
        top_p: float = 0.0,
        temperature: float = 1.0,
        return_dict_in_generate: bool = False,
        output_scores: bool = False,
        **kwargs: Any,
    ) -> Tensor | Generated:
        """Generate tokens; see :func:`decode`.

        Returns:
            The tokens; with ``return_dict_in_generate`` a :class:`Generated`, with scores if
            ``output_scores``.
        """
        output = decode(input_ids, self, max_length, top_k, top_p, temperature, **kwargs)
        if not output_scores:
            output.scores = None
        return output if return_dict_in_generate else output.sequences


def allocate_inference_cache(
    max_batch_size: int,
    max_seqlen: int,
    nheads: int,
    headdim: int,
    layers: int | Sequence[int],
    device: torch.device | str,
    dtype: torch.dtype = torch.float16,
) -> dict[int, Tensor]:
    """Return an empty cache for each layer, of shape (batch, tokens, 2, heads, head size)."""
    assert dtype in (torch.float16, torch.bfloat16, torch.float32)
    shape = max_batch_size, max_seqlen, 2, nheads, headdim
    indices = range(layers) if isinstance(layers, int) else layers
    return {index: torch.empty(shape, device=device, dtype=dtype) for index in indices}


def _ends(tokens: Tensor, params: InferenceParams, max_length: int, eos_token_id: int | None) -> bool:
    if params.seqlen_offset == 0:
        return False
    ended = eos_token_id is not None and bool((tokens == eos_token_id).all())
    return ended or params.seqlen_offset >= max_length - 1


def _logits(model: Any, tokens: Tensor, params: InferenceParams) -> Tensor:
    position = None
    if params.seqlen_offset > 0:
        position = torch.full((len(tokens), 1), params.seqlen_offset, device=tokens.device)
    out = model(tokens, position_ids=position, inference_params=params, num_last_tokens=1)
    return out.logits.squeeze(dim=1)  # type: ignore[no-any-return]
