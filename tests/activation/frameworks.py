"""Trains a network with the framework `sys.argv[1]` on `sys.argv[2]`, and prints the last loss."""

import os
import sys
import tempfile
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

EPOCHS = 3


class Points(Dataset[dict[str, Tensor]]):
    """Points on a plane, with noise."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.inputs = torch.randn(64, 8)
        self.targets = self.inputs @ torch.randn(8, 1) + 0.1 * torch.randn(64, 1)

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, place: int) -> dict[str, Tensor]:
        return {"inputs": self.inputs[place], "targets": self.targets[place]}


class Network(nn.Module):
    """Returns the loss along with the output, as transformers requires."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, inputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        outputs = self.layers(inputs)
        return {"loss": nn.functional.mse_loss(outputs, targets), "outputs": outputs}


def loader() -> DataLoader[dict[str, Tensor]]:
    return DataLoader(Points(), batch_size=16)


def optimizer(network: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(network.parameters(), lr=0.05)


def epochs(network: Any, batches: Any, backward: Any, step: Any) -> Any:
    for _ in range(EPOCHS):
        for batch in batches:
            loss = network(**batch)["loss"]
            backward(loss)
            step()
    return loss.item()


def pytorch_lightning(place: str) -> Any:
    import pytorch_lightning as lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = Network()

        def training_step(self, batch: dict[str, Tensor]) -> Tensor:
            self.loss: Tensor = self.network(**batch)["loss"]
            return self.loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return optimizer(self)

    quiet = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
    )
    module = Module()
    lightning.Trainer(accelerator=place, devices=1, max_epochs=EPOCHS, **quiet).fit(module, loader())
    return module.loss.item()


def lightning_fabric(place: str) -> Any:
    from lightning_fabric import Fabric

    fabric = Fabric(accelerator=place, devices=1)
    fabric.launch()
    network = Network()
    network, descent = fabric.setup(network, optimizer(network))
    batches = fabric.setup_dataloaders(loader())
    return epochs(network, batches, fabric.backward, lambda: (descent.step(), descent.zero_grad()))


def accelerate(place: str) -> Any:
    from accelerate import Accelerator

    accelerator, network = Accelerator(cpu=place == "cpu"), Network()
    network, descent, batches = accelerator.prepare(network, optimizer(network), loader())
    return epochs(network, batches, accelerator.backward, lambda: (descent.step(), descent.zero_grad()))


def transformers(place: str) -> Any:
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        tempfile.mkdtemp(), num_train_epochs=EPOCHS, per_device_train_batch_size=16, learning_rate=0.01,
        optim="adamw_torch", use_cpu=place == "cpu", disable_tqdm=True, save_strategy="no", report_to=[],
    )  # fmt: skip
    return Trainer(model=Network(), args=arguments, train_dataset=Points()).train().training_loss


def deepspeed(place: str) -> Any:
    if place == "cpu":
        os.environ["DS_ACCELERATOR"] = "cpu"
    import deepspeed as framework

    network = Network()
    engine, *_ = framework.initialize(
        model=network,
        optimizer=torch.optim.AdamW(network.parameters()),
        config={
            "train_micro_batch_size_per_gpu": 16,
            "zero_optimization": {"stage": 2},
            "zero_force_ds_cpu_optimizer": False,
        },
    )
    batches = [{name: each.to(engine.device) for name, each in batch.items()} for batch in loader()]
    return epochs(engine, batches, engine.backward, engine.step)


if __name__ == "__main__":
    sys.modules["torch_npu"] = None  # type: ignore[assignment]  # as on a machine without it
    print(globals()[sys.argv[1]](sys.argv[2]), flush=True)
    if sys.argv[2] == "cpu":  # a thread of gloo's may abort an ending process (torch 2.13)
        os._exit(0)
