"""The alias tables, one per backend, and the adapters for what a rename cannot express."""
