"""Random kernels in CUDA C++, and what each of their threads must store, by Python."""
