"""A class at work: thirty students at one server, with somebody beside them who attacks it, or not."""
