"""Statements, functions, buffers and memory of loop IR."""
