"""AutoTVM's tuners: candidates are built, run and measured in this process."""

from compiler.classic.autotvm import callback, measure_methods, tuner

__all__ = ["callback", "measure_methods", "tuner"]
