"""Whether sums of 64 bits wrap around on a device, as random numbers need."""

from __future__ import annotations

import numpy as np

from compiler import te
from compiler.driver.build import build
from compiler.runtime.arrays.ndarray import array
from compiler.runtime.device import Device
from compiler.target.target import Target


def threefry_test_wrapping(target: Target | str, device: Device) -> bool:
    """Return whether the largest ``uint64`` and one make zero."""
    x, y = te.placeholder((1,), "uint64", "x"), te.placeholder((1,), "uint64", "y")
    added = te.compute((1,), lambda i: x[i] + y[i], name="added")
    result = array(np.ones(1, "uint64"), device)
    largest, one = (array(np.array([value], "uint64"), device) for value in (2**64 - 1, 1))
    build(te.create_schedule(added.op), [x, y, added], target)(largest, one, result)
    return int(result.numpy()[0]) == 0
