"""Builds wheels of morph that hold its C++ parts, compiled for each supported torch."""
