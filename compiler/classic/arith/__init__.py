"""Parts of TVM's arithmetic that no build needs."""
