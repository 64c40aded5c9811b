"""Operators as tensor expressions, with their schedules by target: ``tvm.topi``."""
