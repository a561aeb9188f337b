"""Reading a program's source: a scan for what it asks of CUDA, and a port to device-agnostic PyTorch."""
