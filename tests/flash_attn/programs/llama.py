"""Checks that a small transformers model with random weights computes the same with and without flash_attn.

It uses CUDA and transformers only. Takes the flash_attn versions to use as arguments, and prints
"holds" for each check that passes.
"""

import copy
import sys

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, MistralConfig

SIZES = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}


def models(config: LlamaConfig | MistralConfig, version: str) -> list[torch.nn.Module]:
    """Returns a model with eager attention in float32 and in bfloat16, and with flash_attn in bfloat16."""
    torch.manual_seed(0)
    made = []
    for implementation, dtype in (
        ("eager", torch.float32),
        ("eager", torch.bfloat16),
        (f"flash_attention_{version}", torch.bfloat16),
    ):
        own = copy.deepcopy(config)
        model = AutoModelForCausalLM.from_config(own, attn_implementation=implementation, dtype=dtype).to(
            "cuda"
        )
        if made:
            model.load_state_dict(made[0].state_dict())
        made.append(model.eval())
    return made


def far(first: torch.Tensor, second: torch.Tensor) -> float:
    return (first.detach().float() - second.detach().float()).abs().max().item()


def close(title: str, exact: torch.Tensor, eager: torch.Tensor, flash: torch.Tensor) -> None:
    error, allowed = far(flash, exact), 2 * far(eager, exact) + 1e-5
    assert error <= allowed, (title, error, allowed)
    print(title, "holds")


def forward_and_backward(title: str, config: LlamaConfig | MistralConfig, version: str) -> None:
    tokens = torch.randint(3, 96, (3, 40), device="cuda", generator=torch.Generator("cuda").manual_seed(1))
    mask = torch.ones_like(tokens)
    mask[1, :15] = 0
    mask[2, :31] = 0
    labels = tokens.where(mask.bool(), -100)
    labels[torch.arange(3), mask.argmax(1)] = -100  # it would be predicted from a padding token
    logits, gradients = [], []
    for model in models(config, version):
        out = model(tokens, attention_mask=mask, labels=labels)
        out.loss.backward()
        logits.append(out.logits[mask.bool()])
        gradients.append(torch.cat([each.grad.flatten() for each in model.parameters()]))
    close(f"{title}: padded batch", *logits)
    close(f"{title}: gradients", *gradients)


def generation(config: LlamaConfig, version: str) -> None:
    exact, eager, flash = models(config, version)
    prompt = torch.randint(3, 96, (2, 9), device="cuda", generator=torch.Generator("cuda").manual_seed(2))
    mask = torch.ones_like(prompt)
    mask[1, :4] = 0
    options = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    tokens = flash.generate(prompt, attention_mask=mask, **options)
    assert tokens.shape == (2, 21)
    whole = torch.cat([mask, torch.ones_like(tokens[:, 9:])], 1)
    with torch.no_grad():
        scores = exact(tokens, attention_mask=whole).logits[:, 8:-1]
        plain = eager(tokens, attention_mask=whole).logits[:, 8:-1]
    best = scores.max(-1).values
    chosen = scores.gather(2, tokens[:, 9:, None])[..., 0]
    assert far(best, chosen) <= 4 * far(plain, scores) + 1e-5
    print("generate holds")


def sequences_in_one_row(config: LlamaConfig, version: str) -> None:
    tokens = torch.randint(3, 96, (1, 30), device="cuda", generator=torch.Generator("cuda").manual_seed(3))
    positions = torch.cat([torch.arange(11), torch.arange(19)])[None].to("cuda")
    flash = models(config, version)[2]
    with torch.no_grad():
        packed = flash(tokens, position_ids=positions, use_cache=False).logits
        apart = [flash(part).logits for part in (tokens[:, :11], tokens[:, 11:])]
    assert far(packed, torch.cat(apart, 1)) < 0.02
    print("sequences in one row hold")


for version in sys.argv[1:]:
    forward_and_backward("llama", LlamaConfig(**SIZES), version)
    forward_and_backward("mistral", MistralConfig(**SIZES, sliding_window=8), version)
    generation(LlamaConfig(**SIZES), version)
    sequences_in_one_row(LlamaConfig(**SIZES), version)
modules = "flash_attn", "flash_attn_interface", "flash_attn.cute"
print([name for name in modules if name in sys.modules])
