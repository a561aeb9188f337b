"""The lowering of TTIR to C++: a function of each family of operations writes what they compute."""
