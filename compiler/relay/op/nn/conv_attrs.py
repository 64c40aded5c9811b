"""Attributes of convolutions, one class per number of spatial dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from compiler.ir.attrs import attr_field
from compiler.ir.attrs.kinds import INT, OPTIONAL_DTYPE, POSITIVE_INT, STRING, optional
from compiler.relay.op.nn.spatial import PADDING, POSITIVE_SPATIAL, SPATIAL, SPATIAL_PREFIX, SpatialAttrs
from compiler.topi.nn.convolution.conv import ConvSpec

PLAIN_LAYOUTS = {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}
"""Layouts of data and weight by the number of spatial dimensions."""


def _data_layout(default: str) -> str:
    return attr_field(STRING, "Layout of the data, such as ``NCHW``, ``NHWC`` or ``NCHW16c``.", default)


def _kernel_layout(default: str) -> str:
    return attr_field(STRING, "Layout of the weight, such as ``OIHW`` or ``HWIO``.", default)


class ConvolutionAttrs(SpatialAttrs):
    """What plain and transposed convolutions have in common."""

    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    channels: int | None
    kernel_size: tuple[int, ...] | None
    data_layout: str
    kernel_layout: str
    out_layout: str
    out_dtype: str

    @classmethod
    def plain_layouts(cls) -> tuple[str, str]:
        """Return the layouts of data and weight that need not be named, such as ``NCHW`` and ``OIHW``."""
        fields = cls.__attr_fields__
        return str(fields["data_layout"].default), str(fields["kernel_layout"].default)

    @property
    def result_layout(self) -> str:
        """The layout of the result."""
        return self.out_layout or self.data_layout

    def spec(self, dtype: str) -> ConvSpec:
        """Return what the definition as a tensor expression takes; ``dtype`` is the result's where ``out_dtype`` is
        empty.
        """
        half = len(self.padding) // 2
        return ConvSpec(
            strides=self.strides,
            dilation=self.dilation,
            before=self.padding[:half],
            after=self.padding[half:],
            groups=self.groups,
            data_layout=self.data_layout,
            kernel_layout=self.kernel_layout,
            out_layout=self.result_layout,
            out_dtype=self.out_dtype or dtype,
        )


class ConvAttrs(ConvolutionAttrs):
    """Attributes of convolutions."""

    strides: tuple[int, ...] = attr_field(POSITIVE_SPATIAL, "Step of the window along each spatial dimension.", 1)
    padding: tuple[int, ...] = attr_field(
        PADDING, "Zeros around the data: one number, one a dimension, or all beginnings and then all ends.", 0
    )
    dilation: tuple[int, ...] = attr_field(POSITIVE_SPATIAL, "Distance of neighbouring elements of the window.", 1)
    groups: int = attr_field(POSITIVE_INT, "Number of groups of channels that are convolved apart.", 1)
    channels: int | None = attr_field(optional(INT), "Number of output channels, where the weight has no type.", None)
    kernel_size: tuple[int, ...] | None = attr_field(
        optional(SPATIAL), "Spatial extents of the weight, where it has no type.", None
    )
    data_layout: str = _data_layout("")
    kernel_layout: str = _kernel_layout("")
    out_layout: str = attr_field(STRING, "Layout of the result; that of the data if it is empty.", "")
    out_dtype: str = attr_field(
        OPTIONAL_DTYPE, "Data type of the sums and of the result; that of the data if it is empty.", ""
    )


class Conv1DAttrs(ConvAttrs, RANK=1, data_layout="NCW", kernel_layout="OIW"):
    """Attributes of ``nn.conv1d``."""


class Conv2DAttrs(ConvAttrs, RANK=2, data_layout="NCHW", kernel_layout="OIHW"):
    """Attributes of ``nn.conv2d``, ``nn.contrib_conv2d_NCHWc`` and ``qnn.conv2d``."""


class Conv3DAttrs(ConvAttrs, RANK=3, data_layout="NCDHW", kernel_layout="OIDHW"):
    """Attributes of ``nn.conv3d``."""


class Conv2DPackedAttrs(Conv2DAttrs):
    """Attributes of ``nn.contrib_conv2d_NCHWc``, whose channels are in blocks.

    A layout of the weight that is left out, or has no blocks, has blocks as large as those of the data.
    """

    UNWRITTEN = {"data_layout": "NCHW", "kernel_layout": "OIHW"}
    INPUT_BLOCK: ClassVar[str] = ""
    """Size of the weight's blocks of input channels; that of the data's blocks if it is empty."""

    data_layout: str = _data_layout("NCHW8c")
    kernel_layout: str = _kernel_layout("OIHW8i8o")

    @classmethod
    def make(cls, owner: str, values: Mapping[str, object]) -> Self:
        block = str(values.get("data_layout", "NCHW8c")).removeprefix("NCHW").removesuffix("c")
        if block.isdigit() and values.get("kernel_layout", "OIHW") == "OIHW":
            values = {**values, "kernel_layout": f"OIHW{cls.INPUT_BLOCK or block}i{block}o"}
        return super().make(owner, values)


class DepthwiseConv2DPackedAttrs(Conv2DPackedAttrs):
    """Attributes of ``nn.contrib_depthwise_conv2d_NCHWc``, whose channels are in blocks."""

    INPUT_BLOCK = "1"

    kernel_layout: str = _kernel_layout("OIHW1i8o")


class ConvTransposeAttrs(ConvolutionAttrs):
    """Attributes of transposed convolutions."""

    channels: int | None = attr_field(optional(INT), "Number of output channels, where the weight has no type.", None)
    kernel_size: tuple[int, ...] | None = attr_field(
        optional(SPATIAL), "Spatial extents of the weight, where it has no type.", None
    )
    strides: tuple[int, ...] = attr_field(
        POSITIVE_SPATIAL, "Distance of the windows in the result, along each spatial dimension.", 1
    )
    padding: tuple[int, ...] = attr_field(
        PADDING, "What to cut off the result: one number, one a dimension, or all beginnings and then all ends.", 0
    )
    output_padding: tuple[int, ...] = attr_field(
        SPATIAL_PREFIX, "Elements to add at the ends, as strides leave the extents of the result open.", 0
    )
    dilation: tuple[int, ...] = attr_field(POSITIVE_SPATIAL, "Distance of neighbouring elements of the window.", 1)
    groups: int = attr_field(POSITIVE_INT, "Number of groups of channels that are convolved apart.", 1)
    data_layout: str = _data_layout("")
    kernel_layout: str = _kernel_layout("")
    out_layout: str = attr_field(STRING, "Layout of the result; that of the data if it is empty.", "")
    out_dtype: str = attr_field(
        OPTIONAL_DTYPE, "Data type of the sums and of the result; that of the data if it is empty.", ""
    )


class Conv1DTransposeAttrs(ConvTransposeAttrs, RANK=1, data_layout="NCW", kernel_layout="IOW"):
    """Attributes of ``nn.conv1d_transpose``."""


class Conv2DTransposeAttrs(ConvTransposeAttrs, RANK=2, data_layout="NCHW", kernel_layout="IOHW"):
    """Attributes of ``nn.conv2d_transpose``."""


class Conv3DTransposeAttrs(ConvTransposeAttrs, RANK=3, data_layout="NCDHW", kernel_layout="IODHW"):
    """Attributes of ``nn.conv3d_transpose``."""
