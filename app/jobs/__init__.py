"""Runs scripts: a fair queue, cores, the launcher of sandboxed jobs, the reader and cache of answers, ladders."""
