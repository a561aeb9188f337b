"""Operators other than attention."""
