"""The focal loss of detectors, in the module of that name."""
