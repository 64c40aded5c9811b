"""Reverse-mode differentiation of tensor expressions."""

from compiler.te.autodiff.gradient import gradient

__all__ = ["gradient"]
