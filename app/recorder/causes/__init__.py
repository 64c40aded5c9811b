"""Says why a function takes the time that it takes: a model of its parts, and what each part would be without."""
