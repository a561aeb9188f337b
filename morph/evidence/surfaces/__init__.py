"""Recording the public names of an installed release, and comparing two releases."""
