"""Serving torch.cuda: proxy modules whose names come from a backend's table."""
