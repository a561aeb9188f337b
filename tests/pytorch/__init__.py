"""PyTorch's own tests, from the source tree of a release, as the judge of the software device."""
