"""Serves torch.cuda through proxy modules whose names come from a backend's table."""
