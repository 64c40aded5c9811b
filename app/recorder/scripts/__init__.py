"""A user's script as it runs: output, limits, errors at its lines."""
