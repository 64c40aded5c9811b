"""From stages to loops: bounds, loop nests, statements."""
