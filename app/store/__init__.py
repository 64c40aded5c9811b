"""What is stored for good, by content: permalinks in a database, uploaded files in a directory."""
