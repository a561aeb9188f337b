"""Steps of whole libraries that run identically on plain torch's CPU and on the software device."""

from __future__ import annotations

import functools
import importlib.util
import tempfile
from collections.abc import Callable
from typing import Any

import torch

Work = Callable[[], object]
WORDS, WIDTH, LENGTH = 512, 128, 64


def llama(device: str, width: int = WIDTH) -> Any:
    """Return a Llama of two layers with random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": width, "intermediate_size": 2 * width, "vocab_size": WORDS}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2}
    return LlamaForCausalLM(LlamaConfig(**sizes, **heads)).to(device)


def texts(device: str) -> torch.Tensor:
    """Return four texts of 64 words."""
    return torch.randint(3, WORDS, (4, LENGTH)).to(device)


def adam(model: torch.nn.Module, loss: Callable[[], torch.Tensor]) -> Work:
    """Return a training step with AdamW on lists of tensors, which is CUDA's default and not the CPU's."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, foreach=True)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def transformers_generate(device: str, width: int = WIDTH) -> Work:
    """Return the writing of 16 words after four texts, greedily, with a dynamic cache."""
    model, prompt = llama(device, width).eval(), texts(device)
    return lambda: model.generate(prompt, max_new_tokens=16, do_sample=False, pad_token_id=0)


def transformers_train(device: str) -> Work:
    """Return a training step of the Llama."""
    model, words = llama(device), texts(device)
    return adam(model, lambda: model(input_ids=words, labels=words).loss)


def transformers_trainer(device: str) -> Work:
    """Return eight steps of transformers' Trainer."""
    from transformers import Trainer, TrainingArguments

    rows = [{"input_ids": row, "labels": row} for row in texts("cpu").repeat(8, 1)]
    options: dict[str, Any] = {"report_to": [], "save_strategy": "no", "logging_strategy": "no"}
    options |= {"disable_tqdm": True, "max_steps": 8, "use_cpu": device == "cpu"}
    arguments = TrainingArguments(tempfile.mkdtemp(), per_device_train_batch_size=4, **options)
    trainer = Trainer(llama(device), arguments, train_dataset=rows)  # type: ignore[arg-type]
    return trainer.train


def peft_lora(device: str) -> Work:
    """Return a training step of LoRA on all layers."""
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(llama(device), LoraConfig(target_modules="all-linear"))
    words = texts(device)
    return adam(model, lambda: model(input_ids=words, labels=words).loss)


def accelerate_loop(device: str) -> Work:
    """Return a training step of a model that accelerate prepared, with clipping."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=device == "cpu")
    model = llama("cpu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, foreach=True)
    model, optimizer = accelerator.prepare(model, optimizer)
    words = texts(accelerator.device.type)

    def step() -> None:
        optimizer.zero_grad()
        accelerator.backward(model(input_ids=words, labels=words).loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def diffusers_denoise(device: str) -> Work:
    """Return a denoising step: a conditioned UNet and its scheduler, on two latent images of 32 by 32."""
    from diffusers import DDIMScheduler, UNet2DConditionModel

    sizes: dict[str, Any] = {"block_out_channels": (32, 64), "layers_per_block": 1, "norm_num_groups": 8}
    blocks = {"down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D")}
    blocks |= {"up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D")}
    model = UNet2DConditionModel(sample_size=32, cross_attention_dim=64, **sizes, **blocks).to(device).eval()
    scheduler = DDIMScheduler()
    scheduler.set_timesteps(10, device=device)
    image, states = torch.rand(2, 4, 32, 32).to(device), torch.rand(2, 16, 64).to(device)
    moment = scheduler.timesteps[3]

    def step() -> None:
        with torch.no_grad():
            noise = model(image, moment, encoder_hidden_states=states).sample
            scheduler.step(noise, moment, image)

    return step


def lightning_fit(device: str) -> Work:
    """Return one epoch of Lightning's Trainer: 16 batches of its demonstration model."""
    from lightning import Trainer
    from lightning.pytorch.demos.boring_classes import BoringModel

    class Model(BoringModel):  # type: ignore[misc]
        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.layer.parameters(), lr=0.1, foreach=True)

    kind = "cpu" if device == "cpu" else "gpu"
    options = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    quiet = {"enable_model_summary": False, "limit_train_batches": 16, "limit_val_batches": 0}

    def epoch() -> None:
        Trainer(accelerator=kind, devices=1, max_epochs=1, **options, **quiet).fit(Model())  # type: ignore[arg-type]

    return epoch


def stable_baselines3_ppo(device: str) -> Work:
    """Return 256 steps of PPO on CartPole, with their four epochs of training."""
    from stable_baselines3 import PPO

    by_lists = {"optimizer_kwargs": {"foreach": True}}
    agent = PPO("MlpPolicy", "CartPole-v1", n_steps=256, n_epochs=4, device=device, policy_kwargs=by_lists)
    return lambda: agent.learn(256)


def torch_geometric_gcn(device: str) -> Work:
    """Return a training step of two graph convolutions on 500 nodes with 4,000 edges."""
    from torch_geometric.nn import GCN

    model = GCN(64, 64, 2, 7).to(device)
    nodes, edges = torch.rand(500, 64).to(device), torch.randint(500, (2, 4000)).to(device)
    labels = (torch.arange(500) % 7).to(device)
    return adam(model, lambda: torch.nn.functional.cross_entropy(model(nodes, edges), labels))


def monai_unet(device: str) -> Work:
    """Return a training step of a UNet of three dimensions with the Dice loss."""
    from monai.losses import DiceCELoss
    from monai.networks.nets import UNet

    model = UNet(3, 1, 2, channels=(8, 16, 32), strides=(2, 2), num_res_units=1).to(device)
    images, masks = torch.rand(2, 1, 32, 32, 32).to(device), torch.randint(2, (2, 1, 32, 32, 32)).to(device)
    loss = DiceCELoss(to_onehot_y=True, softmax=True)
    return adam(model, lambda: loss(model(images), masks))


def gpytorch_exact(device: str) -> Work:
    """Return a training step of an exact Gaussian process on 100 points."""
    import gpytorch

    class Process(gpytorch.models.ExactGP):  # type: ignore[misc]
        def __init__(self, likelihood: Any) -> None:
            super().__init__(points, values, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, inputs: torch.Tensor) -> Any:
            normal = gpytorch.distributions.MultivariateNormal
            return normal(self.mean_module(inputs), self.covar_module(inputs))

    points = torch.linspace(0, 1, 100).to(device)
    values = torch.sin(6 * points)
    model = Process(gpytorch.likelihoods.GaussianLikelihood()).to(device)
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    return adam(model, lambda: -marginal(model(points), values))


def e3nn_product(device: str) -> Work:
    """Return a training step of a fully connected tensor product on 200 edges."""
    from e3nn import o3

    model = o3.FullyConnectedTensorProduct("8x0e + 4x1o", "0e + 1o", "8x0e + 4x1o").to(device)
    left, right = torch.rand(200, 20).to(device), torch.rand(200, 4).to(device)
    return adam(model, lambda: model(left, right).pow(2).mean())


STACKS: dict[str, Callable[[str], Work]] = {
    "accelerate: training step": accelerate_loop,
    "diffusers: denoising step": diffusers_denoise,
    "e3nn: training step": e3nn_product,
    "gpytorch: training step": gpytorch_exact,
    "lightning: epoch of 16 batches": lightning_fit,
    "monai: training step": monai_unet,
    "peft: training step of LoRA": peft_lora,
    "stable_baselines3: PPO": stable_baselines3_ppo,
    "torch_geometric: training step": torch_geometric_gcn,
    "transformers: generate": transformers_generate,
    "transformers: generate, 512 wide": functools.partial(transformers_generate, width=512),
    "transformers: training step": transformers_train,
    "transformers: Trainer": transformers_trainer,
}


def installed() -> list[str]:
    """Return the names of the stacks whose library is installed."""
    return [name for name in STACKS if importlib.util.find_spec(name.split(":")[0])]
