"""Reading a program's source: its tree, places and names; what it asks of CUDA, and a port of it."""
