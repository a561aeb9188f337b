"""Running programs under morph: the command line, the program as ``__main__``, and its child processes."""
