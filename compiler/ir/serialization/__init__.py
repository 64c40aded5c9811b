"""Nodes as JSON, here and in TVM's form."""
