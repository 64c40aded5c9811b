"""Importers of other formats: ``relay.frontend``."""
