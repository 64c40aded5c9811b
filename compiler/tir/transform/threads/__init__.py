"""Threads of a kernel, and what they wait for."""
