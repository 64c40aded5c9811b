"""Tensors and the operations that compute them."""
