"""What apex's extension modules compute, on the operators that torch has for every device."""
