"""Rewrites source so that its comparisons against CUDA literals accept a vendor's spelling."""
