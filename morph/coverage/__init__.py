"""Which CUDA names work on which backend, and how that is known."""
