"""A module inside."""


class Thing:
    """A class that is pickled by its public name."""
