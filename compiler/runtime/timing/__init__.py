"""Measuring kernels and models."""
