"""The computations of apex's extension modules, with operators that torch has for every device."""
