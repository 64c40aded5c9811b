"""Schedules for CPUs with vectors: register tiles sized for the target's vector registers."""
