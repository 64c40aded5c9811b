"""Loop IR as TVMScript."""
