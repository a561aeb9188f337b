"""cuda-python for the active backend's devices: NVIDIA's interface, served by morph."""
