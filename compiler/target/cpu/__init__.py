"""What is known of processors: features, caches, clocks, speeds."""
