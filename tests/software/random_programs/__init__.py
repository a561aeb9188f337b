"""Random programs of moves, views, aliases and in-place operations, compared with a model of CUDA."""
