"""Parts of TVM's Relay that no build needs."""
