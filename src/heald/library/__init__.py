"""The builtins, written in the kernel language: one function each, in a file by topic."""
