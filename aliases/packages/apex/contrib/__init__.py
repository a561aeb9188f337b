"""The parts of apex beside its core."""
