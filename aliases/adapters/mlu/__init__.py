"""Adapters for torch.cuda on Cambricon MLUs."""
