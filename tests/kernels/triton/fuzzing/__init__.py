"""Random kernels, with the numbers that they must store."""
