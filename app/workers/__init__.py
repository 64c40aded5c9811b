"""Rendering processes, which decode and render untrusted answers within memory and time limits."""
