"""Python source as ``check`` and ``port`` read it: its tree, places, and what its names stand for."""
