"""Schedules of programs with blocks."""
