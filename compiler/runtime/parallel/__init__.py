"""Threads and processes that work together."""
