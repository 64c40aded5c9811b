"""Blocks of TensorIR into loops and buffers."""
