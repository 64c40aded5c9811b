"""What operators compute, in NumPy, and the usual schedules, under TVM's names: ``tvm.topi.testing``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.extension import lazy_package

_OPERATORS = """
    adaptive_pool affine_grid_python batch_matmul batch_to_space_nd_python conv1d_ncw_python conv1d_transpose_ncw_python
    conv2d_backcward_weight_python conv2d_backward_weight_python conv2d_hwcn_python conv2d_nchw_python
    conv2d_nhwc_python conv2d_transpose_nchw_python conv2d_transpose_nhwc_python conv3d_ncdhw_python conv3d_ndhwc_python
    conv3d_transpose_ncdhw_python correlation_nchw_python crop_and_resize_python deformable_conv2d_nchw_python
    deformable_conv2d_nhwc_python dense depth_to_space_python depthwise_conv2d_python_nchw
    depthwise_conv2d_python_nchwc depthwise_conv2d_python_nhwc dilate_python gather_nd_python gather_python
    grid_sample_nchw_python grid_sample_python group_conv1d_ncw_python group_conv1d_transpose_ncw_python
    l2_normalize_python log_softmax_python lrn_python matrix_set_diag nll_loss one_hot pool_grad_nchw poolnd_python
    reorg_python resize1d_python resize2d_python resize3d_python roi_align_nchw_python roi_align_nhwc_python
    roi_pool_nchw_python searchsorted_ref sequence_mask slice_axis_python softmax_python space_to_batch_nd_python
    space_to_depth_python strided_set_python strided_slice_python
"""
_NORMALIZATION = "batch_norm group_norm_python instance_norm_python layer_norm_python rms_norm_python"
_SCHEDULES = """
    compare_numpy_tvm dispatch get_broadcast_schedule get_conv2d_nchw_implement get_elemwise_schedule
    get_injective_schedule get_reduce_schedule
"""

_HOMES = {
    "compiler.classic.testing.topi.operators": tuple(_OPERATORS.split()),
    "compiler.classic.testing.topi.normalization": tuple(_NORMALIZATION.split()),
    "compiler.classic.testing.topi.recurrent": ("attention_python", "lstm_python"),
    "compiler.classic.testing.topi.schedules": tuple(_SCHEDULES.split()),
}

__all__ = [name for names in _HOMES.values() for name in names]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_package("tvm.topi.testing", _HOMES)
