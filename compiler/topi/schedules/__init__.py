"""Kernel schedules: a shared kit, generic ones, and those for x86 and GPUs.

``kit`` has tile sizes and loops, ``anchor`` finds the computation that a group is scheduled around, ``generic`` serves
groups without one, ``x86`` convolutions, products of matrices and resampling.
"""

from compiler.topi.schedules.generic import schedule_injective, schedule_reduce, schedule_rule_for

__all__ = ["schedule_injective", "schedule_reduce", "schedule_rule_for"]
