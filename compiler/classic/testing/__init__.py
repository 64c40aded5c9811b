"""Helpers for tests of tensor programs, under TVM's names: ``tvm.testing``.

The modules that need pytest are loaded when one of their names is first used: a program that only compares arrays does
not need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.extension import lazy_package

_HOMES = {
    "compiler.classic.testing.assertions": ("assert_allclose", "assert_structural_equal"),
    "compiler.classic.testing.callbacks": (
        "ErrorTest", "device_test", "echo", "identity_after", "nop", "test_check_eq_callback",
        "test_raise_error_callback", "test_wrap_callback",
    ),
    "compiler.classic.testing.comparison": ("CompareBeforeAfter",),
    "compiler.classic.testing.constraints": (
        "assert_prim_expr_equal", "check_bool_expr_is_true", "check_int_constraints_trans_consistency",
    ),
    "compiler.classic.testing.counting": ("object_use_count",),
    "compiler.classic.testing.data": ("generate_ref_data", "get_dtype_range"),
    "compiler.classic.testing.environment": ("IS_IN_CI", "SKIP_SLOW_TESTS", "install_request_hook", "strtobool"),
    "compiler.classic.testing.features": (
        "Feature", "is_ampere_or_newer", "requires_aarch64", "requires_aarch64_sme", "requires_aarch64_sve",
        "requires_adreno_opencl", "requires_aprofile_aem_fvp", "requires_arm_dot", "requires_arm_fp16",
        "requires_cascadelake", "requires_corstone300", "requires_cublas", "requires_cuda",
        "requires_cuda_compute_version", "requires_cudagraph", "requires_cudnn", "requires_cutlass",
        "requires_ethosn", "requires_ethosu", "requires_gpu", "requires_hexagon", "requires_hipblas",
        "requires_libtorch", "requires_llvm", "requires_matrixcore", "requires_metal", "requires_micro",
        "requires_mps", "requires_mrvl", "requires_multi_gpu", "requires_nccl", "requires_nnapi",
        "requires_nvcc_version", "requires_nvptx", "requires_opencl", "requires_openclml", "requires_package",
        "requires_rocm", "requires_rpc", "requires_skylake_avx512", "requires_tensorcore", "requires_vitis_ai",
        "requires_vulkan", "requires_x86", "requires_x86_amx", "requires_x86_avx512", "requires_x86_vnni",
        "skip_if_32bit", "skip_if_no_reference_system", "skip_if_wheel_test", "slow", "uses_gpu", "uses_multi_gpu",
    ),
    "compiler.classic.testing.gradients": ("check_numerical_grads",),
    "compiler.classic.testing.parametrization": (
        "exclude_targets", "fixture", "known_failing_targets", "parameter", "parameters", "parametrize_targets",
        "skip_parameterizations", "xfail_parameterizations",
    ),
    "compiler.classic.testing.runner": ("main",),
    "compiler.classic.testing.spans": ("disable_span_filling", "enable_span_filling"),
    "compiler.classic.testing.targets": ("DEFAULT_TEST_TARGETS", "device_enabled", "enabled_targets"),
}  # fmt: skip

__all__ = [name for names in _HOMES.values() for name in names]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_package("tvm.testing", _HOMES)
