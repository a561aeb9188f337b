"""Adapters for torch.cuda on Moore Threads GPUs."""
