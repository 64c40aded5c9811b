"""Cheaper expressions of the same value."""
