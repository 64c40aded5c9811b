"""Passes: what they are, in which order and context they run, and how they are written as text."""
