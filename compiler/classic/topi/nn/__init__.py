"""Computations of ``topi.nn`` under TVM's names, one for each layout of their data."""
