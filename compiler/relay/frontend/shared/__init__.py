"""What all importers share: calls that are folded and typed as they are made, and what is wrong with models."""
