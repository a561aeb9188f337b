"""Whether every Python of an environment runs under morph: its start-up files, and how they come and go."""

from morph.environment.changes import Change, apply, disabling, enabling
from morph.environment.place import UNTIL, Place, find
from morph.environment.state import State, state

__all__ = ["UNTIL", "Change", "Place", "State", "apply", "disabling", "enabling", "find", "state"]
