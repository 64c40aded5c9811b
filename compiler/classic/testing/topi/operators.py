"""NumPy functions that are the references of operators, in the order of arguments that TVM's have.

What an operator computes stands once, in its row; a function here only says which operator it is, and how its arguments
are the operator's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.ir.error import ArgumentError
from compiler.relay.operator import relay_ops
from compiler.topi.definitions import named

Array = npt.NDArray[Any]
Ints = Sequence[int]
Numbers = int | Sequence[int]
Padding = str | Numbers
"""``VALID``, ``SAME``, a number, one for each dimension, or all beginnings and then all ends."""
Function = Callable[..., Array]


def reference(operator: str, *arrays: Any, **attrs: Any) -> Any:
    """Return what the reference of an operator computes, its attributes by name."""
    op = relay_ops()[operator]
    assert op.reference is not None
    return op.reference(op.attrs_type.make(operator, attrs), *arrays)


# matrices and losses


def dense(
    x: Array, y: Array, bias: Array | None, use_bias: bool = False, use_relu: bool = False, out_dtype: str | None = None
) -> Array:
    """Return the dense layer of ``(batch, features)`` and ``(units, features)``, of the data's type by default."""
    result = reference("nn.dense", x, y, out_dtype=out_dtype or str(x.dtype))
    if use_bias and bias is not None:
        result = result + bias
    return np.asarray(np.maximum(result, 0) if use_relu else result)


def batch_matmul(
    x: Array, y: Array, out_dtype: str | None = None, trans_x: bool = False, trans_y: bool = True
) -> Array:
    """Return the product of each pair of matrices of two batches, of the data's type by default."""
    kind = out_dtype or str(x.dtype)
    return np.asarray(reference("nn.batch_matmul", x, y, out_dtype=kind, transpose_a=trans_x, transpose_b=trans_y))


def nll_loss(
    predictions: Array, targets: Array, weights: Array, reduction: str = "mean", ignore_index: int = -100
) -> Array:
    """Return the negative logarithms of the likelihood of the right classes, but for ``ignore_index``.

    ``predictions`` are logarithms of probabilities, ``(N, C, …)``; targets are ``(N, …)``, weights ``(C,)``. The losses
    become their ``mean`` or ``sum``, or themselves with ``none``.
    """
    attrs = {"reduction": reduction, "ignore_index": ignore_index}
    return np.asarray(reference("nn.nll_loss", predictions, targets, weights, **attrs))


# convolutions


def _each(value: Numbers, rank: int) -> tuple[int, ...]:
    return (int(value),) * rank if isinstance(value, (int, np.integer)) else tuple(int(v) for v in value)


def _edges(padding: Padding, extents: Ints) -> tuple[int, ...]:
    """Return the zeros around the data, beginnings first; ``SAME`` keeps the extents at stride 1, whatever it is."""
    rank = len(extents)
    if isinstance(padding, str):
        around = [0 if padding.upper() == "VALID" else n - 1 for n in extents]
        return (*(n // 2 for n in around), *(n - n // 2 for n in around))
    numbers = _each(padding, rank)
    return numbers if len(numbers) == 2 * rank else numbers * 2


def _convolution(
    layouts: tuple[str, str], data: Array, weight: Array, stride: Numbers, padding: Padding, **attrs: Any
) -> Array:
    """Return a convolution, transposed where there is an ``output_padding``; floats are summed in double precision."""
    spatial = [letter for letter in layouts[0] if letter not in "NC"]
    steps = _each(stride, len(spatial))
    extents = [weight.shape[layouts[1].index(letter)] for letter in spatial]
    gaps = _each(attrs.get("dilation", 1), len(spatial))
    kind = "_transpose" if "output_padding" in attrs else ""
    if kind and any(more >= step for more, step in zip(_each(attrs["output_padding"], len(steps)), steps, strict=True)):
        raise ArgumentError(f"output_padding {attrs['output_padding']} must be less than the stride {steps}")
    attrs |= {"data_layout": layouts[0], "kernel_layout": layouts[1], "strides": steps}
    attrs["padding"] = _edges(padding, [(n - 1) * gap + 1 for n, gap in zip(extents, gaps, strict=True)])
    attrs["out_dtype"] = "float64" if data.dtype.kind == "f" else str(data.dtype)
    return np.asarray(reference(f"nn.conv{len(spatial)}d{kind}", data, weight, **attrs).astype(data.dtype))


def _of_layout(name: str, data_layout: str, kernel_layout: str) -> Function:
    def build(a_np: Array, w_np: Array, stride: Numbers, padding: Padding, groups: int = 1) -> Array:
        """Return a convolution of data of layout {data_layout} and a weight of layout {kernel_layout}.

        ``padding`` is ``VALID``, ``SAME``, or numbers of zeros around the data: one, one a dimension, or beginnings and
        then ends.
        """
        return _convolution((data_layout, kernel_layout), a_np, w_np, stride, padding, groups=groups)

    return named(build, name, data_layout=data_layout, kernel_layout=kernel_layout)


conv2d_nchw_python = _of_layout("conv2d_nchw_python", "NCHW", "OIHW")
conv2d_nhwc_python = _of_layout("conv2d_nhwc_python", "NHWC", "HWIO")
conv3d_ncdhw_python = _of_layout("conv3d_ncdhw_python", "NCDHW", "OIDHW")
conv3d_ndhwc_python = _of_layout("conv3d_ndhwc_python", "NDHWC", "DHWIO")


def conv2d_hwcn_python(a_np: Array, w_np: Array, stride: Numbers, padding: Padding) -> Array:
    """Return a convolution of data of layout HWCN and a weight of layout HWIO; padding as in conv2d_nchw_python."""
    return _convolution(("HWCN", "HWIO"), a_np, w_np, stride, padding)


def group_conv1d_ncw_python(
    a_np: Array, w_np: Array, stride: Numbers, padding: Padding, dilation: Numbers, groups: int
) -> Array:
    """Return a convolution of data of layout NCW and a weight of layout OIW; padding as in conv2d_nchw_python."""
    return _convolution(("NCW", "OIW"), a_np, w_np, stride, padding, dilation=dilation, groups=groups)


def conv1d_ncw_python(a_np: Array, w_np: Array, stride: Numbers, padding: Padding, dilation: Numbers) -> Array:
    """Return a convolution of data of layout NCW and a weight of layout OIW; padding as in conv2d_nchw_python."""
    return group_conv1d_ncw_python(a_np, w_np, stride, padding, dilation, 1)


def _transposed(name: str, data_layout: str, kernel_layout: str) -> Function:
    layouts = (data_layout, kernel_layout)

    def build(
        a_np: Array, w_np: Array, stride: Numbers, padding: Padding, output_padding: Numbers, groups: int = 1
    ) -> Array:
        """Return a transposed convolution of data of layout {data_layout} and a weight of layout {kernel_layout}.

        ``padding``, as in conv2d_nchw_python, is cut off; ``output_padding`` is added to the ends.
        """
        more = _each(output_padding, len(data_layout) - 2)
        return _convolution(layouts, a_np, w_np, stride, padding, output_padding=more, groups=groups)

    return named(build, name, data_layout=data_layout, kernel_layout=kernel_layout)


conv1d_transpose_ncw_python = _transposed("conv1d_transpose_ncw_python", "NCW", "IOW")
group_conv1d_transpose_ncw_python = conv1d_transpose_ncw_python
conv2d_transpose_nchw_python = _transposed("conv2d_transpose_nchw_python", "NCHW", "IOHW")
conv3d_transpose_ncdhw_python = _transposed("conv3d_transpose_ncdhw_python", "NCDHW", "IODHW")


def conv2d_transpose_nhwc_python(
    a_nhwc: Array,
    weight: Array,
    weight_format: str,
    stride: Numbers,
    padding: Padding,
    output_padding: Numbers = (0, 0),
) -> Array:
    """Return a transposed convolution of data of layout NHWC.

    Raises ArgumentError if the layout of the weight is another one.

    Parameters
    ----------
    weight_format : str
        ``HWIO``, ``HWOI``, ``OIHW`` or ``IOHW``; ``I`` are the channels of the data.
    """
    if sorted(weight_format) != sorted("HWIO"):
        raise ArgumentError(
            f"conv2d_transpose_nhwc_python: weight_format must be HWIO in some order, got {weight_format}"
        )
    more = _each(output_padding, 2)
    return _convolution(("NHWC", weight_format), a_nhwc, weight, stride, padding, output_padding=more)


def depthwise_conv2d_python_nchw(input_np: Array, filter_np: Array, stride: Numbers, padding: Padding) -> Array:
    """Return a convolution of each channel apart; the weight is ``(channels, multiplier, height, width)``."""
    channels, multiplier, *window = filter_np.shape
    kernel = filter_np.reshape(channels * multiplier, 1, *window)
    return conv2d_nchw_python(input_np, kernel, stride, padding, channels)


def depthwise_conv2d_python_nhwc(input_np: Array, filter_np: Array, stride: Numbers, padding: Padding) -> Array:
    """Return a convolution of each channel apart; the weight is ``(height, width, channels, multiplier)``."""
    data, weight = input_np.transpose(0, 3, 1, 2), filter_np.transpose(2, 3, 0, 1)
    return depthwise_conv2d_python_nchw(data, weight, stride, padding).transpose(0, 2, 3, 1)


def depthwise_conv2d_python_nchwc(input_np: Array, filter_np: Array, stride: Numbers, padding: Padding) -> Array:
    """Return a convolution of each channel apart, channels in blocks.

    The weight is ``(blocks, multiplier, height, width, 1, channels of a block)``.
    """
    batch, blocks, height, width, inner = input_np.shape
    data = input_np.transpose(0, 1, 4, 2, 3).reshape(batch, blocks * inner, height, width)
    outer, multiplier, rows, columns, _, block = filter_np.shape
    weight = filter_np.transpose(0, 5, 1, 4, 2, 3).reshape(outer * block, multiplier, rows, columns)
    result = depthwise_conv2d_python_nchw(data, weight, stride, padding)
    shape = (batch, result.shape[1] // block, block, *result.shape[2:])
    return result.reshape(shape).transpose(0, 1, 3, 4, 2)


def conv2d_backward_weight_python(
    dy_np: Array,
    x_np: Array,
    kernel_size: Ints,
    stride: Numbers,
    padding: Numbers,
    layout: str = "NCHW",
    groups: int = 1,
    channels: int | None = None,
) -> Array:
    """Return the gradient of a convolution with respect to its weight, OIHW of data NCHW or OHWI of NHWC.

    Raises ArgumentError if the layout is another one, or there are several groups.
    """
    if layout not in ("NCHW", "NHWC") or groups != 1:
        raise ArgumentError(
            f"conv2d_backward_weight_python: expected NCHW or NHWC in one group, got {layout}, {groups}"
        )
    attrs = {"strides": _each(stride, 2), "padding": _edges(padding, kernel_size), "kernel_size": tuple(kernel_size)}
    layouts = {"data_layout": layout, "grad_layout": layout, "kernel_layout": layout.translate({78: 79, 67: 73})}
    exact = {"out_dtype": "float64"} if x_np.dtype.kind == "f" else {}
    result = reference("nn.conv2d_backward_weight", dy_np, x_np, **attrs, **layouts, **exact)
    return np.asarray(result.astype(x_np.dtype))


conv2d_backcward_weight_python = conv2d_backward_weight_python


def deformable_conv2d_nchw_python(
    a_np: Array,
    offset_np: Array,
    w_np: Array,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    deformable_groups: int,
    groups: int,
) -> Array:
    """Return a convolution whose window has a place of its own for each element.

    The offsets are rows and columns to add, ``(N, 2 * deformable_groups * window, height, width)``.
    """
    attrs = {"deformable_groups": deformable_groups, "groups": groups, "data_layout": "NCHW", "kernel_layout": "OIHW"}
    return _deformable((a_np, offset_np, w_np), (stride, padding, dilation), attrs)


def deformable_conv2d_nhwc_python(
    a_np: Array,
    offset_np: Array,
    w_np: Array,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    deformable_groups: int,
    groups: int,
) -> Array:
    """Return :func:`deformable_conv2d_nchw_python` of data and offsets of layout NHWC, and a weight HWIO."""
    attrs = {"deformable_groups": deformable_groups, "groups": groups, "data_layout": "NHWC", "kernel_layout": "HWIO"}
    return _deformable((a_np, offset_np, w_np), (stride, padding, dilation), attrs)


def _deformable(arrays: tuple[Array, ...], numbers: tuple[Numbers, ...], attrs: dict[str, Any]) -> Array:
    strides, padding, dilation = (_each(number, 2) for number in numbers)
    attrs |= {"strides": strides, "padding": padding[:2] * 2, "dilation": dilation}
    return np.asarray(reference("nn.deformable_conv2d", *arrays, **attrs))


def correlation_nchw_python(
    data1: Array,
    data2: Array,
    kernel_size: int,
    max_displacement: int,
    stride1: int,
    stride2: int,
    padding: int,
    is_multiply: bool,
) -> Array:
    """Return how windows of one image go with those around their places, at steps of ``stride2``, in another.

    If ``is_multiply``, products are added up, rather than absolute differences.
    """
    numbers = {"kernel_size": kernel_size, "max_displacement": max_displacement, "padding": padding}
    steps = {"stride1": stride1, "stride2": stride2, "is_multiply": is_multiply}
    return np.asarray(reference("nn.correlation", data1, data2, **numbers, **steps))


# pooling


def _pool_type(function: str, pool_type: str) -> str:
    if pool_type not in ("max", "avg"):
        raise ArgumentError(f"{function}: pool_type must be 'max' or 'avg', got {pool_type!r}")
    return pool_type


def poolnd_python(
    np_data: Array,
    kernel: Ints,
    strides: Ints,
    dilation: Ints,
    padding_before: Ints,
    padding_after: Ints,
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: str = "float32",
    layout: str | None = None,
) -> Array:
    """Return the greatest element (``max``), or the mean (``avg``), of each window.

    In means, elements beyond the ends count if ``count_include_pad``; in ``ceil_mode`` a last window may go beyond the
    end. The layout is ``NCHW`` and the like by default.
    """
    rank, kind = np_data.ndim - 2, _pool_type("poolnd_python", pool_type)
    attrs: dict[str, Any] = {"pool_size": kernel, "strides": strides, "dilation": dilation, "ceil_mode": ceil_mode}
    attrs |= {"padding": [*padding_before, *padding_after], "layout": layout or f"NC{'DHW'[-rank:]}"}
    attrs |= {"count_include_pad": count_include_pad} if kind == "avg" else {}
    result = reference(f"nn.{kind}_pool{rank}d", np_data.astype(dtype), **attrs)
    return np.asarray(result if kind == "avg" else np.maximum(result, np.finfo(dtype).min))


def pool_grad_nchw(
    a_np: Array,
    out_grad_np: Array,
    pool_size: Ints,
    strides: Ints,
    padding: Ints,
    pool_type: str,
    ceil_mode: bool,
    count_include_pad: bool = True,
) -> Array:
    """Return the gradient of ``max`` or ``avg`` pooling; ``padding`` is at the top, left, bottom and right."""
    kind = _pool_type("pool_grad_nchw", pool_type)
    attrs: dict[str, Any] = {"pool_size": pool_size, "strides": strides, "padding": padding, "ceil_mode": ceil_mode}
    attrs |= {"count_include_pad": count_include_pad} if kind == "avg" else {}
    return np.asarray(reference(f"nn.{kind}_pool2d_grad", out_grad_np, a_np, **attrs))


def adaptive_pool(np_data: Array, out_size: Numbers, pool_type: str, layout: str) -> Array:
    """Return the greatest elements (``max``), or the means (``avg``), of as many windows as ``out_size`` asks for."""
    rank, kind = np_data.ndim - 2, _pool_type("adaptive_pool", pool_type)
    attrs = {"output_size": _each(out_size, rank), "layout": layout}
    result = reference(f"nn.adaptive_{kind}_pool{rank}d", np_data.astype("float64"), **attrs)
    return np.asarray(result.astype(np_data.dtype))


# images and regions


def _resize(name: str, layout_default: str) -> Function:
    def build(
        data: Array,
        scale: Sequence[float],
        layout: str = layout_default,
        method: str = "nearest_neighbor",
        coordinate_transformation_mode: str = "align_corners",
    ) -> Array:
        """Return arrays resized, of a layout such as ``{layout}``; extents are multiplied by ``scale`` and rounded.

        Places in the result are places in the data by ``align_corners``, ``half_pixel`` or ``asymmetric`` coordinates.
        """
        extents = [extent for extent, letter in zip(data.shape, layout, strict=True) if letter not in "NC"]
        attrs = {"size": [round(extent * factor) for extent, factor in zip(extents, scale, strict=True)]}
        how = {"method": method, "coordinate_transformation_mode": coordinate_transformation_mode, "layout": layout}
        result = reference(f"image.resize{len(extents)}d", data.astype("float64"), **attrs, **how)
        return np.asarray(result.astype(data.dtype))

    return named(build, name, layout=layout_default)


resize1d_python = _resize("resize1d_python", "NCW")
resize2d_python = _resize("resize2d_python", "NCHW")
resize3d_python = _resize("resize3d_python", "NCDHW")


def affine_grid_python(data: Array, target_shape: Ints) -> Array:
    """Return where the pixels of images lie after affine transformations, ``(N, 2, 3)``."""
    return np.asarray(reference("image.affine_grid", data, target_shape=target_shape))


def grid_sample_python(
    data: Array,
    grid: Array,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Array:
    """Return images sampled at places: columns and rows between -1 and 1, ``(N, 2, height, width)``.

    Outside are ``zeros``, the ``border`` or a ``reflection``. Where ``align_corners``, -1 and 1 are the
    centres of the outermost pixels, else their edges.
    """
    how = {"method": method, "layout": layout, "padding_mode": padding_mode, "align_corners": align_corners}
    return np.asarray(reference("image.grid_sample", data, grid, **how))


def grid_sample_nchw_python(data: Array, grid: Array, method: str = "bilinear") -> Array:
    """Return images sampled at places, under the older name of :func:`grid_sample_python`."""
    return grid_sample_python(data, grid, method)


def crop_and_resize_python(
    image: Array,
    boxes: Array,
    box_indices: Array,
    crop_size: Ints,
    layout: str,
    method: str = "bilinear",
    extrapolation_value: float = 0,
) -> Array:
    """Return parts of images, resized.

    ``boxes`` are top, left, bottom and right of each part, between 0 and 1, and ``box_indices`` the image that it is
    of.
    """
    how = {"crop_size": crop_size, "layout": layout, "method": method, "extrapolation_value": extrapolation_value}
    return np.asarray(reference("image.crop_and_resize", image, boxes, box_indices, **how))


def _roi_align(name: str, layout: str) -> Function:
    def build(
        a_np: Array,
        rois_np: Array,
        pooled_size: Numbers,
        spatial_scale: float,
        sample_ratio: int,
        mode: bytes | str = b"avg",
    ) -> Array:
        """Return regions of images of layout {layout} as images of one size, interpolated.

        A region is image, left, top, right and bottom; its edges are multiplied by ``spatial_scale``. A window has
        ``sample_ratio`` samples along each dimension, or as many as it has pixels where that is not positive.
        """
        attrs = {"pooled_size": pooled_size, "spatial_scale": spatial_scale, "sample_ratio": sample_ratio}
        kind = "max" if mode in (b"max", "max", 1) else "avg"
        return np.asarray(reference("vision.roi_align", a_np, rois_np, **attrs, layout=layout, mode=kind))

    return named(build, name, layout=layout)


roi_align_nchw_python = _roi_align("roi_align_nchw_python", "NCHW")
roi_align_nhwc_python = _roi_align("roi_align_nhwc_python", "NHWC")


def roi_pool_nchw_python(a_np: Array, rois_np: Array, pooled_size: Numbers, spatial_scale: float) -> Array:
    """Return the greatest elements of windows of regions; these are as in :func:`roi_align_nchw_python`."""
    attrs = {"pooled_size": pooled_size, "spatial_scale": spatial_scale}
    return np.asarray(reference("vision.roi_pool", a_np, rois_np, **attrs))


# normalisation


def softmax_python(a_np: Array, axis: int = 1) -> Array:
    """Return the softmax; elements along ``axis`` add up to 1."""
    return np.asarray(reference("nn.softmax", a_np, axis=axis))


def log_softmax_python(a_np: Array, axis: int = 1) -> Array:
    """Return the logarithm of the softmax along an axis."""
    return np.asarray(reference("nn.log_softmax", a_np, axis=axis))


def l2_normalize_python(a_np: Array, eps: float, axis: Numbers | None = None) -> Array:
    """Return an array divided by its Euclidean length along axes, all of them by default."""
    axes = None if axis is None else _each(axis, 1)
    return np.asarray(reference("nn.l2_normalize", a_np, eps=eps, axis=axes))


def lrn_python(a_np: Array, size: int, axis: int, bias: float, alpha: float, beta: float) -> Array:
    """Return an array normalised by the squares of ``size`` neighbours along an axis, the element itself included."""
    return np.asarray(reference("nn.lrn", a_np, size=size, axis=axis, bias=bias, alpha=alpha, beta=beta))


# selecting, moving and setting elements


def gather_python(data: Array, axis: int, indices: Array) -> Array:
    """Return the elements at indices along an axis."""
    return np.asarray(reference("gather", data, indices, axis=axis))


def gather_nd_python(a_np: Array, indices_np: Array) -> Array:
    """Return the elements, or slices, at tuples of indices; the first axis of ``indices_np`` is the tuple."""
    return np.asarray(reference("gather_nd", a_np, indices_np.astype("int64")))


def one_hot(indices: Array, on_value: float, off_value: float, depth: int, axis: int, dtype: str) -> Array:
    """Return vectors along ``axis`` (-1 is last) with one value at an index, and another one elsewhere."""
    values = np.asarray(on_value, dtype), np.asarray(off_value, dtype)
    return np.asarray(reference("one_hot", np.asarray(indices), *values, depth=depth, axis=axis, dtype=dtype))


def sequence_mask(data: Array, valid_length: Array, mask_value: float, axis: int) -> Array:
    """Return sequences along ``axis``, 0 or 1, whose elements behind their lengths ``(batch,)`` are a value."""
    return np.asarray(reference("sequence_mask", data, valid_length, mask_value=mask_value, axis=axis))


def slice_axis_python(data: Array, axis: int, begin: int, end: int | None = None) -> Array:
    """Return a part of an array along one axis, up to its end by default."""
    return data[(*[slice(None)] * (axis % data.ndim), slice(begin, end))]


def strided_slice_python(
    data: Array, begin: Ints, end: Ints, strides: Ints | None, slice_mode: str = "end", axes: Ints | None = None
) -> Array:
    """Return a part of an array with steps.

    ``slice_mode`` says whether ``end`` is ``end``, or the ``size`` of the part, where -1 is the rest; steps are 1 then.
    ``axes`` are those that the numbers are for, by default the first ones.
    """
    bounds = {"begin": [int(n) for n in begin], "end": [int(n) for n in end]}
    steps = [1] if strides is None or len(strides) == 0 else [int(n) for n in strides]
    return np.asarray(reference("strided_slice", data, **bounds, strides=steps, slice_mode=slice_mode, axes=axes))


def strided_set_python(data: Array, v: Array, begin: Ints, end: Ints, strides: Ints | None) -> Array:
    """Return an array with a part of it set."""
    steps = [1] * len(begin) if strides is None or len(strides) == 0 else strides
    return np.asarray(reference("strided_set", data, v, *(np.asarray(n, "int64") for n in (begin, end, steps))))


def matrix_set_diag(input_np: Array, diagonal: Array, k: Numbers = 0, align: str = "RIGHT_LEFT") -> Array:
    """Return matrices with diagonals set, as ``topi.matrix_set_diag`` does."""
    low, high = (k, k) if isinstance(k, int) else (k[0], k[-1])
    above, below = (side == "RIGHT" for side in align.split("_"))
    sides = {"super_diag_right_align": above, "sub_diag_right_align": below}
    return np.asarray(reference("matrix_set_diag", input_np, diagonal, k1=low, k2=high, **sides))


def searchsorted_ref(sorted_sequence: Array, values: Array, right: bool, out_dtype: str) -> Array:
    """Return where values would be put into sorted rows, or one for all; ``right`` is behind equal elements."""
    return np.asarray(reference("searchsorted", sorted_sequence, values, right=right, dtype=out_dtype))


def depth_to_space_python(data: Array, block_size: int, mode: str = "DCR") -> Array:
    """Return images ``(N, C, H, W)`` whose channels have become blocks of pixels.

    The depth is the inner part of the channels, ``DCR``, or the outer one, ``CRD``.
    """
    return np.asarray(reference("nn.depth_to_space", data, block_size=block_size, mode=mode))


def space_to_depth_python(data: Array, block_size: int) -> Array:
    """Return images ``(N, C, H, W)`` whose blocks of pixels have become channels."""
    return np.asarray(reference("nn.space_to_depth", data, block_size=block_size))


def space_to_batch_nd_python(
    data: Array, block_shape: Ints, pad_before: Ints, pad_after: Ints, pad_value: float = 0
) -> Array:
    """Return an array whose blocks, of the dimensions after the batch, have become elements of the batch."""
    paddings = list(zip(pad_before, pad_after, strict=True))
    attrs = {"block_shape": block_shape, "paddings": paddings, "pad_value": pad_value}
    return np.asarray(reference("nn.space_to_batch_nd", data, **attrs))


def batch_to_space_nd_python(data: Array, block_shape: Ints, crop_begin_list: Ints, crop_end_list: Ints) -> Array:
    """Return an array whose batch has become blocks of its other dimensions, which are then cropped."""
    crops = list(zip(crop_begin_list, crop_end_list, strict=True))
    return np.asarray(reference("nn.batch_to_space_nd", data, block_shape=block_shape, crops=crops))


def reorg_python(a_np: Array, stride: int) -> Array:
    """Return images ``(N, C, H, W)`` whose pixels are gathered by their place in a block, as YOLO does."""
    return np.asarray(reference("vision.yolo_reorg", a_np, stride=stride))


def dilate_python(input_np: Array, strides: Ints, dilation_value: float = 0.0, out_dtype: str | None = None) -> Array:
    """Return an array with a value between its elements, which are ``strides`` apart afterwards."""
    data = input_np.astype(out_dtype or input_np.dtype)
    return np.asarray(reference("nn.dilate", data, strides=strides, dilation_value=dilation_value))
