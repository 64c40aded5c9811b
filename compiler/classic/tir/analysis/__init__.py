"""Analyses of loops that no build runs: programs call them by their names."""
