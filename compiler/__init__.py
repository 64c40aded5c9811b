"""Classic TVM in pure Python: tensor expressions, schedules, lowering and code generation."""

__version__ = "0.1.0"
