"""Proposals: the primitives that a schedule can take next, tried on copies and written as edits of the script."""
