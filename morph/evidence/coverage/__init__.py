"""The CUDA names that work on each backend, and the evidence."""
