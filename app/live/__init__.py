"""Workspaces that two to five people edit together, one of whom writes at a time."""
