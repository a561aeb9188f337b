"""Rehearses a program on the simulated device: records its CUDA names, and judges whether it would run.

The first process sets a folder in the environment, in which each process of the program keeps a record; at
the end all records are read.
"""
