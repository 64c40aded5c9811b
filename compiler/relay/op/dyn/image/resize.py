"""Resizing to a size computed at run time: ``dyn.image.resize1d``, ``dyn.image.resize2d``, ``dyn.image.resize3d``."""

from __future__ import annotations

from compiler.relay.op.dyn.image_types import image_relation
from compiler.relay.op.dyn.shapes import register_dynamic
from compiler.relay.op.image.resize import resize1d, resize2d, resize3d

_SIZE = {
    "size": "Spatial extents of the result, a vector.",
    "roi": "Part of the data to resize, a vector; all beginnings, then all ends.",
}

for _resize in (resize1d, resize2d, resize3d):
    register_dynamic(_resize.op, _SIZE, image_relation, "The images of another size.")
