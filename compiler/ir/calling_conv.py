"""How functions are called, as their attribute ``calling_conv`` says."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["CallingConv"]


class CallingConv(IntEnum):
    """Values of the attribute: as the machine does; with rows of values and kinds; launched by a device's driver."""

    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2
