"""Running every Python of an environment under morph: the start-up files, their making and removal."""

from morph.environment.changes import Change, apply, disabling, enabling
from morph.environment.place import UNTIL, Place, find
from morph.environment.state import State, state

__all__ = ["UNTIL", "Change", "Place", "State", "apply", "disabling", "enabling", "find", "state"]
