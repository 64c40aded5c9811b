"""Operators of neural networks: ``relay.nn``."""

from compiler.relay.op.nn import pool_grad
from compiler.relay.op.nn.activation import leaky_relu, prelu, relu
from compiler.relay.op.nn.bias import batch_flatten, bias_add, dropout, dropout_raw
from compiler.relay.op.nn.conv import conv1d, conv2d, conv3d
from compiler.relay.op.nn.conv_packed import contrib_conv2d_nchwc, contrib_depthwise_conv2d_nchwc
from compiler.relay.op.nn.conv_transpose import conv1d_transpose, conv2d_transpose, conv3d_transpose
from compiler.relay.op.nn.dense import batch_matmul, contrib_dense_pack, dense, matmul
from compiler.relay.op.nn.global_pool import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    global_avg_pool1d,
    global_avg_pool2d,
    global_avg_pool3d,
    global_max_pool1d,
    global_max_pool2d,
    global_max_pool3d,
)
from compiler.relay.op.nn.loss import cross_entropy, cross_entropy_with_logits
from compiler.relay.op.nn.norm import batch_norm, group_norm, instance_norm, l2_normalize, layer_norm, lrn
from compiler.relay.op.nn.pad import mirror_pad, pad
from compiler.relay.op.nn.pool import avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d
from compiler.relay.op.nn.rearrange import depth_to_space, space_to_depth
from compiler.relay.op.nn.softmax import fast_softmax, log_softmax, softmax
from compiler.relay.op.nn.upsampling import upsampling, upsampling3d

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_flatten",
    "batch_matmul",
    "batch_norm",
    "bias_add",
    "contrib_conv2d_nchwc",
    "contrib_dense_pack",
    "contrib_depthwise_conv2d_nchwc",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "cross_entropy",
    "cross_entropy_with_logits",
    "dense",
    "depth_to_space",
    "dropout",
    "dropout_raw",
    "fast_softmax",
    "global_avg_pool1d",
    "global_avg_pool2d",
    "global_avg_pool3d",
    "global_max_pool1d",
    "global_max_pool2d",
    "global_max_pool3d",
    "group_norm",
    "instance_norm",
    "l2_normalize",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "lrn",
    "matmul",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mirror_pad",
    "pad",
    "pool_grad",
    "prelu",
    "relu",
    "softmax",
    "space_to_depth",
    "upsampling",
    "upsampling3d",
]
