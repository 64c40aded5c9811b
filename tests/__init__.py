"""The tests of `compiler` and `app`, runnable as ``python -m tests``."""
