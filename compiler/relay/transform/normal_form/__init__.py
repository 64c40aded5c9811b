"""Functions in the forms that other passes and machines need."""
