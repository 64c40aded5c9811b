"""Synchronization with a coprocessor."""
