"""Running every Python of an environment under morph: the start-up files, their making and removal."""

from morph.running.environment.changes import Change, apply, disabling, enabling
from morph.running.environment.place import UNTIL, Place, find
from morph.running.environment.state import State, state

__all__ = ["UNTIL", "Change", "Place", "State", "apply", "disabling", "enabling", "find", "state"]
