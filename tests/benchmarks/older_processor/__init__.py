"""Programs that see a processor with fewer features than this one has."""
