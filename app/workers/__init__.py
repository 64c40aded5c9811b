"""Processes that decode and render answers, which are hostile: each with little memory, and little time for a task."""
