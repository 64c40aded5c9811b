"""NumPy's arrays whose data types are only known when a program runs."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

NumPyArray: TypeAlias = npt.NDArray[Any]
ElementType: TypeAlias = np.dtype[Any]
