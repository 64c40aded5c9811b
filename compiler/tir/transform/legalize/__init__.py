"""Data types and operations that a target does not have."""
