"""Integers for quantized operators."""
