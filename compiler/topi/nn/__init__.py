"""The operators of neural networks as tensor expressions, a file a family."""
