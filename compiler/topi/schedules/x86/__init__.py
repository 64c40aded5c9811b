"""Schedules for CPUs with vectors: register tiles that suit the width and the number of a target's registers."""
