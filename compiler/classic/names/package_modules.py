"""Modules of TVM that do not exist here, because their package defines their names."""

from __future__ import annotations

MODULES_OF_PACKAGES = {
    "tvm.script.ir_builder.tir": "ir",
    "tvm.relay.analysis": "count_layers",
    "tvm.relay.transform": "recast",
    "tvm.target": "generic_func",
    **{f"tvm.{name}": name.rpartition(".")[2] for name in ("autotvm.measure", "relay.quantize")},
    **{f"tvm.relay.op.{name}": name for name in ("annotation", "image", "memory", "nn", "vm")},
    "tvm.meta_schedule.builder": "builder local_builder",
    "tvm.meta_schedule.database": """
        database json_database memory_database ordered_union_database schedule_fn_database union_database
    """,
    "tvm.meta_schedule.cost_model": "cost_model random_model xgb_model",
    "tvm.meta_schedule.mutator": """
        mutate_compute_location mutate_parallel mutate_thread_binding mutate_tile_size mutate_unroll mutator
    """,
    "tvm.meta_schedule.postproc": """
        disallow_async_strided_mem_copy disallow_dynamic_loop postproc rewrite_cooperative_fetch rewrite_layout
        rewrite_parallel_vectorize_unroll rewrite_reduction_block rewrite_tensorize rewrite_unbound_block
        verify_gpu_code verify_vtcm_limit
    """,
    "tvm.meta_schedule.schedule_rule": """
        add_rfactor apply_custom_rule auto_bind auto_inline cross_thread_reduction multi_level_tiling
        parallel_vectorize_unroll random_compute_location schedule_rule
    """,
    "tvm.meta_schedule.search_strategy": "evolutionary_search replay_func replay_trace search_strategy",
    "tvm.meta_schedule.space_generator": "post_order_apply schedule_fn space_generator space_generator_union",
    "tvm.meta_schedule.runner": "config local_runner rpc_runner runner",
    "tvm.relay.op.random": "kernel",
    "tvm.relay.op.vision": "nms rcnn yolo",
    "tvm.relay.qnn.op": "op qnn",
    "tvm.topi.cuda": """
        argwhere batch_matmul conv1d conv1d_transpose_ncw conv2d conv2d_hwcn conv2d_transpose conv3d
        conv3d_transpose_ncdhw correlation deformable_conv2d dense depthwise_conv2d group_conv2d_nchw injective nms nn
        pooling reduction scan scatter scatter_elements searchsorted signal softmax sort sparse sparse_reshape transform
        vision
    """,
    "tvm.topi.testing": """
        adaptive_pool_python attention_python batch_matmul batch_norm batch_to_space_nd common conv1d_ncw_python
        conv1d_transpose_ncw_python conv2d_backcward_weight_python conv2d_hwcn_python conv2d_nchw_python
        conv2d_nhwc_python conv2d_transpose_python conv3d_ncdhw_python conv3d_ndhwc_python conv3d_transpose_ncdhw_python
        correlation_nchw_python crop_and_resize_python deformable_conv2d_python dense depth_to_space
        depthwise_conv2d_python dilate_python gather_nd_python gather_python grid_sample_python group_norm_python
        instance_norm_python l2_normalize_python layer_norm_python lrn_python lstm_python matrix_set_diag nll_loss
        one_hot pool_grad_python poolnd_python reorg_python resize_python rms_norm_python roi_align_python
        roi_pool_python searchsorted sequence_mask_python slice_axis_python softmax_python space_to_batch_nd
        space_to_depth strided_slice_python
    """,
    "tvm.topi": """
        argwhere broadcast einsum reduction scatter_elements searchsorted sort sparse_reshape tensor transform unique
    """,
    "tvm.topi.generic": "conv2d default extern image injective math nn search sort vision",
    "tvm.topi.image": "dilation2d grid_sample resize",
    "tvm.topi.nn": """
        batch_matmul batch_norm batch_to_space_nd bitserial_conv2d bitserial_dense bitserial_util bnn conv1d
        conv1d_transpose conv2d conv2d_transpose conv3d conv3d_transpose correlation deformable_conv2d dense
        depth_to_space depthwise_conv2d dilate elemwise fifo_buffer flatten group_norm instance_norm layer_norm
        local_response_norm lstm mapping rms_norm space_to_batch_nd space_to_depth winograd_util
    """,
    "tvm.topi.random": "kernel",
    "tvm.topi.sparse": "csrmm csrmv dense",
    "tvm.topi.vision": "reorg",
    "tvm.topi.vision.rcnn": "roi_align roi_pool",
    "tvm.topi.x86": """
        batch_matmul binarize_pack binary_dense bitserial_conv2d bitserial_dense conv1d conv2d conv2d_int8
        conv2d_transpose conv3d conv3d_transpose dense depthwise_conv2d group_conv2d injective nn pooling reduction
        sparse
    """,
}
"""Modules of TVM whose names are defined by their package here: ``from tvm.topi.nn.dense import matmul``.

They can only be imported from.  If the package has a function of the same name, its attribute remains the function.
"""
