"""GPU schedules: elementwise, cross-thread reductions, and tiles in shared memory and registers.

``kit`` binds elements to threads, ``reduction`` reduces in one thread or across several, ``contraction`` tiles products
of matrices and convolutions, ``depthwise`` convolves channels by themselves, ``softmax`` computes a row by a block, and
``group`` says which one suits a fused group.
"""

from compiler.topi.schedules.gpu.group import schedule_group

__all__ = ["schedule_group"]
