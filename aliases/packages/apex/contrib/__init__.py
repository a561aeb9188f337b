"""The parts of apex outside its core."""
