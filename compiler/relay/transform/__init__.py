"""Passes over graphs, one a file: ``relay.transform``."""
