"""What can be counted about the code: types, documentation, sizes, names; ``__main__`` prints it."""
