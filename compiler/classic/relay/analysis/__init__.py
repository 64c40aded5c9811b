"""Analyses of graphs that no build runs: programs call them by their names."""
