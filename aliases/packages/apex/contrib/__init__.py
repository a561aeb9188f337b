"""What apex offers beside its core."""
