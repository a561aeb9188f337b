"""Adapters for torch.cuda on Intel GPUs."""
