"""Runs and times of kernels and models, checked against what they have to compute."""
