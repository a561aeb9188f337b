"""Faults on purpose, and programs that recover from them."""
