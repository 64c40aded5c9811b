"""Layouts of tensors and the maps between indices."""
