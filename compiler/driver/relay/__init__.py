"""Builds models: from a Relay module to kernels, memory and an executor.

``build`` and ``vm`` are the two ways through: ``lower``, ``schedule`` and ``kernels`` make machine code of groups of
operators for both; ``graph`` and ``memory`` write the graph that the graph executor runs; ``vm_kernels`` makes kernels
for dynamic shapes.
"""
