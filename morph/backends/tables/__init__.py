"""The tables of backends and served packages: their format, and how they are read."""
