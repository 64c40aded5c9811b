"""Floats into integers."""
