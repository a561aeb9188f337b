"""What the bindings are made of."""
