"""Converters of ATen operators, a file for each family; importing them fills the table."""

from compiler.relay.frontend.pytorch.converters import (
    activations as _activations,
)
from compiler.relay.frontend.pytorch.converters import (
    attention as _attention,
)
from compiler.relay.frontend.pytorch.converters import (
    comparisons as _comparisons,
)
from compiler.relay.frontend.pytorch.converters import (
    creation as _creation,
)
from compiler.relay.frontend.pytorch.converters import (
    elementwise as _elementwise,
)
from compiler.relay.frontend.pytorch.converters import (
    images as _images,
)
from compiler.relay.frontend.pytorch.converters import (
    indexing as _indexing,
)
from compiler.relay.frontend.pytorch.converters import (
    matmul as _matmul,
)
from compiler.relay.frontend.pytorch.converters import (
    normalization as _normalization,
)
from compiler.relay.frontend.pytorch.converters import (
    quantized as _quantized,
)
from compiler.relay.frontend.pytorch.converters import (
    recurrent as _recurrent,
)
from compiler.relay.frontend.pytorch.converters import (
    reductions as _reductions,
)
from compiler.relay.frontend.pytorch.converters import (
    scalars as _scalars,
)
from compiler.relay.frontend.pytorch.converters import (
    shape as _shape,
)
from compiler.relay.frontend.pytorch.converters import (
    sorting as _sorting,
)
from compiler.relay.frontend.pytorch.converters import (
    windows as _windows,
)

__all__: list[str] = []

_FAMILIES = (
    _activations,
    _attention,
    _comparisons,
    _creation,
    _elementwise,
    _images,
    _indexing,
    _matmul,
    _normalization,
    _quantized,
    _recurrent,
    _reductions,
    _scalars,
    _shape,
    _sorting,
    _windows,
)
