"""The evidence: which CUDA names work on which backend, and what a program has asked of them."""
