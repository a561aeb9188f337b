"""Products of chosen rows."""

from .index_mul_2d import index_mul_2d as index_mul_2d
