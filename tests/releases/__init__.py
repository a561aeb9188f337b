"""Other releases of torch, Python and torch_npu: smoke tests, each in its own environment, and signatures."""
