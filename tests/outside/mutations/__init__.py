"""Takes legality checks, refusals and bounds away, one at a time, and lists those that no test misses."""
