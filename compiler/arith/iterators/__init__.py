"""Maps of iterators: what runs through an index, and in which order."""
