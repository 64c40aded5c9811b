"""Persistent content-addressed storage: permalinks in a database, uploaded files in a directory."""
