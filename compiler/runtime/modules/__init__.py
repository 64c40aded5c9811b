"""Machine code and what calls it: modules, libraries, packed functions."""
