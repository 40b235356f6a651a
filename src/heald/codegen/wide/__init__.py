"""Widened code: one stream of vector instructions runs several neighbouring threads, its lanes."""
