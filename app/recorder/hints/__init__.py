"""Inlay hints: what the statements of a script give names to, in a few words."""
