"""Schedules and their stages."""
