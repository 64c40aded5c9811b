"""Functions as host and device call them."""
