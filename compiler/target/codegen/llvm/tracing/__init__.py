"""Which row of machine code comes from which line, and which pass changed it."""
