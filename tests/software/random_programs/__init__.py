"""Random programs of moves, views, aliases and in-place work, held against a model of CUDA."""
