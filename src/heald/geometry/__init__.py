"""Host classes of spatial data structures, written on the public surface."""

from heald.geometry.hash_grid import HashGrid

__all__ = ["HashGrid"]
