"""Shared infrastructure of the importers: folding, type inference, common converters and errors."""
