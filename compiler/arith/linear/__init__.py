"""Linear equations and inequalities."""
