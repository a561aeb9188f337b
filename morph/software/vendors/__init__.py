"""The vendors' modules on the software device: each made from its recorded surface, and what it does not tell."""
