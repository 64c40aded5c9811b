"""Nodes as text."""
