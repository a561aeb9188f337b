"""Serving torch.cuda: proxy modules whose answers come from a backend's table."""
