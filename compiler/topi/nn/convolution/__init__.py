"""Convolutions in all layouts."""
