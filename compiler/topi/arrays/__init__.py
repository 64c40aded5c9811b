"""Elements picked, moved and joined."""
