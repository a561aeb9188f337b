"""The vendors' modules on the software device, each made from its recorded surface."""
