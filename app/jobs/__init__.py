"""Execution of scripts: fair queue, cores, sandboxed jobs, answers and their cache, ladders."""
