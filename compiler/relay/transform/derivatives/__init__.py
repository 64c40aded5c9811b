"""Derivatives."""
