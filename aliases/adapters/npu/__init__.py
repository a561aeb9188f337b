"""Adapters for torch.cuda on Huawei Ascend."""
