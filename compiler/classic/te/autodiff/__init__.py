"""Reverse-mode differentiation of tensor expressions."""

from compiler.classic.te.autodiff.gradient import gradient

__all__ = ["gradient"]
