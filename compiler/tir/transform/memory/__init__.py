"""Memory: flattened, shared, placed."""
