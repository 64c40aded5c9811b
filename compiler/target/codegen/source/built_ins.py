"""The built-in functions of device languages, the only ones that kernels can call.

They are taken from *WebGPU Shading Language*, chapter 17; *The OpenCL C Specification*, version 1.2, chapter 6.12,
with the extensions for sub-groups; and *Metal Shading Language Specification*, version 2, chapter 5.  Functions with
arguments that TIR cannot express, such as textures and atomic variables, are omitted.
"""

from __future__ import annotations

import re

_EVERYWHERE = (
    "abs acos acosh asin asinh atan atan2 atanh ceil clamp cos cosh exp exp2 floor fma fract ldexp log log2 max min "
    "mix pow round sign sin sinh smoothstep sqrt step tan tanh trunc all any select dot cross distance length normalize"
)
WGSL_FUNCTIONS = re.compile(
    "|".join(
        (
            *_EVERYWHERE.split(),
            "f16|f32|i32|u32|bool|vec[234][fhiu]?",
            "count(LeadingZeros|OneBits|TrailingZeros)|first(Leading|Trailing)Bit|reverseBits|extractBits|insertBits",
            "dot4[UI]8Packed|degrees|radians|faceForward|reflect|refract|inverseSqrt|quantizeToF16|saturate",
            "(un)?pack(4x8[su]norm|4x[IU]8|2x16[su]norm|2x16float)|pack4x[IU]8Clamp",
            "storageBarrier|workgroupBarrier",
        )
    )
)
_OPENCL_NAMES = (
    "acospi asinpi atan2pi atanpi cbrt copysign cospi erf erfc exp10 expm1 fabs fdim fmax fmin fmod frexp hypot ilogb "
    "lgamma lgamma_r log10 log1p logb mad maxmag minmag modf nan nextafter pown powr remainder remquo rint rootn rsqrt "
    "sincos sinpi tanpi tgamma degrees radians abs_diff add_sat hadd rhadd clz ctz mad24 mad_hi mad_sat mul24 mul_hi "
    "popcount rotate sub_sat upsample fast_distance fast_length fast_normalize bitselect isequal isfinite isgreater "
    "isgreaterequal isinf isless islessequal islessgreater isnan isnormal isnotequal isordered isunordered signbit "
    "barrier mem_fence read_mem_fence write_mem_fence prefetch printf shuffle shuffle2 vec_step"
)
OPENCL_FUNCTIONS = re.compile(
    "|".join(
        (
            *_EVERYWHERE.split(),
            *_OPENCL_NAMES.split(),
            "(half|native)_(cos|divide|exp|exp2|exp10|log|log2|log10|powr|recip|rsqrt|sin|sqrt|tan)",
            "get_(work_dim|(global|local)_(size|id)|num_groups|group_id|global_offset)",
            "(atomic|atom)_(add|sub|xchg|inc|dec|cmpxchg|min|max|and|or|xor)",
            "(convert|as)_(u?(char|short|int|long)|half|float|double)(2|3|4|8|16)?(_sat)?(_rt[ezpn])?",
            "v(load|store)(a?_half)?(2|3|4|8|16)?(_rt[ezpn])?",
            "sub_group_(barrier|broadcast|all|any|((reduce|scan_(in|ex)clusive)_(add|min|max))|shuffle(_up|_down|_xor)?)",
            "get_sub_group_(size|id|local_id)|get_num_sub_groups|intel_sub_group_\\w+",
        )
    )
)
_METAL_NAMES = (
    "absdiff addsat clz ctz extract_bits hadd insert_bits mad24 madhi madsat max3 median3 min3 mul24 mulhi popcount "
    "reverse_bits rhadd rotate subsat isfinite isinf isnan isnormal isordered isunordered signbit copysign cospi "
    "divide exp10 fabs fdim fmax fmax3 fmedian3 fmin fmin3 fmod frexp ilogb log10 modf nextafter powr rint rsqrt "
    "saturate sincos sinpi tanpi distance_squared faceforward length_squared reflect refract"
)
METAL_FUNCTIONS = re.compile(
    "|".join(
        (
            *_EVERYWHERE.split(),
            *_METAL_NAMES.split(),
            "(bool|half|float|u?(char|short|int|long))[234]?",
            "simd_(all|any|ballot|broadcast(_first)?|is_first|and|or|xor|max|min|product|sum)",
            "simd_(shuffle(_xor|_up|_down|_rotate_up|_rotate_down)?|prefix_(in|ex)clusive_(product|sum))",
            "quad_(broadcast|shuffle(_xor|_up|_down)?)",
        )
    )
)
