"""Editor support: completions, signatures and documentation of the public API."""
