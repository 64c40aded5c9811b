"""Graphs divided among compilers."""
