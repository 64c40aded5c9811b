"""A small network for GPUs: its kernels in CUDA and WebGPU, which need no GPU to be made."""

import re

import tvm
from tvm import relay

TEXT = """
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(8, 4, 3, 3), float32], %d: Tensor[(4, 8), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]));
  %1 = nn.max_pool2d(%0, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]);
  %2 = nn.batch_flatten(nn.global_avg_pool2d(%1));
  (nn.softmax(nn.dense(%2, %d)), argmax(%2, axis=[1]), sort(%2, axis=1), cumsum(%2, axis=1))
}
"""
for kind in ("cuda", "webgpu"):
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(relay.fromtext(TEXT), target=tvm.target.Target(kind, host="llvm"))
    source = lib.get_lib().imported_modules[0].get_source()
    print(f"-- {kind}")
    print("\n".join(dict.fromkeys(re.findall(r"(?:void|fn) (?:__launch\w+\(\d+\) )?(\w+kernel\w*)\(", source))))
