"""Smoke tests on other releases of torch, Python and torch_npu, each in its own environment."""
