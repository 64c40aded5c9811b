"""Arrays of numbers, their types, and what is passed to functions."""
