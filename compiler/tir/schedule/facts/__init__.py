"""What primitives have to know about blocks and loops."""
