"""What one anonymous client can do to all others, measured: each attack against a server of its own."""
