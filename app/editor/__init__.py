"""What the editor knows of the public API: names to complete, with signatures and documentation."""
