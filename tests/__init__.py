"""The tests of both wings, runnable as ``python -m tests``."""
