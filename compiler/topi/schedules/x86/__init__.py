"""Schedules for CPUs with vectors: register tiles sized for the target's vector registers.

How to add one is in the recipe *To add an x86 schedule* of ``compiler/README.md``.
"""
