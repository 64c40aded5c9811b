"""Kernels on NVIDIA's GPUs, by the driver's own interface."""
