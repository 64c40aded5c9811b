"""Tensor programs written for TVM, run here unchanged."""
