"""Operators beside attention."""
