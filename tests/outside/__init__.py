"""Suites that others wrote, run on this compiler."""
