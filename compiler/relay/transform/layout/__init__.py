"""Layouts of tensors."""
