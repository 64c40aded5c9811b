"""Loops: unrolled, vectorized, partitioned, hoisted out of."""
