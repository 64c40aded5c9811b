"""The header of a C program, and a main program that times its first function."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir import dtype as dt
from compiler.runtime.modules.signature import Parameter, Signature, show_size
from compiler.target.codegen.signatures import passed_type
from compiler.target.codegen.source.generate import SourceCode
from compiler.target.codegen.source.language import Language
from compiler.target.codegen.source.names import identifier

DEFAULT_SIZE = 64
"""The value of symbolic sizes in the main program."""
WEIGHTS_FILE = "weights.bin"
"""The file from which a main program reads the weights of a model."""
_GUARD = "STRATA_MODULE_H"
_REPEATS = 10
_LONG_ENOUGH = "1e-3"
"""The minimum duration of a measurement in seconds, as some clocks have a resolution of a microsecond."""
_RANDOM = [
    "static uint32_t state = 1;",
    "",
    "static double next_random(void) { /* from 0 to 1 */",
    "    state = state * 1664525u + 1013904223u;",
    "    return (state >> 8) / 16777216.0;",
    "}",
    "",
    "static double seconds(void) {",
    "    struct timespec now;",
    "    timespec_get(&now, TIME_UTC);",
    "    return now.tv_sec + now.tv_nsec * 1e-9;",
    "}",
]


def c_header(code: SourceCode) -> str:
    """Return the header of a program, with the prototypes of its functions."""
    lines = [f"#ifndef {_GUARD}", f"#define {_GUARD}", "", "#include <stdbool.h>", "#include <stdint.h>", ""]
    for signature in code.signatures:
        lines.append(f"int32_t {signature.symbol}({', '.join(_parameters(code.language, signature)) or 'void'});")
    return "\n".join([*lines, "", "#endif", ""])


def c_main(code: SourceCode, header: str = "module.h", weights: Sequence[str] = ()) -> str:
    """Return a main program that calls and times the first function on random inputs.

    It prints the shortest of ten measurements, for which short calls are repeated until their duration can be measured,
    and the sum of each output array.  The values of ``weights`` are read from the file ``weights.bin``, in this order.
    """
    language, signature = code.language, code.signatures[0]
    arrays = [(_name(language, p), p) for p in signature.parameters if p.shape is not None]
    lines = ["#include <stdio.h>", "#include <time.h>", f'#include "{header}"', ""]
    lines += [f"enum {{ {_size(language, name)} = {DEFAULT_SIZE} }};" for name in signature.sizes]
    lines += [_array(language, name, p) for name, p in arrays]
    lines += ["", *_RANDOM, ""]
    if weights:
        lines += [*_reading([name for name, p in arrays if p.name in weights]), ""]
    lines.append("int main(void) {")
    if weights:
        lines.append(f'    if (read_weights() != 0) {{ printf("cannot read {WEIGHTS_FILE}\\n"); return 1; }}')
    for name, p in arrays:
        if p.name in weights:
            continue
        lines.append(f"    for (long i = 0; i < (long)(sizeof {name} / sizeof *{name}); ++i) {name}[i] = {_filled(p)};")
    lines += [f"    {line}" for line in (*_timing(language, signature), *_sums(arrays), "return 0;")]
    return "\n".join([*lines, "}", ""])


def _reading(names: Sequence[str]) -> list[str]:
    """Return the C code of a function that reads arrays from a file."""
    reads = [f"    missing += sizeof {name} - fread({name}, 1, sizeof {name}, file);" for name in names]
    return [
        "static int read_weights(void) {",
        f'    FILE* file = fopen("{WEIGHTS_FILE}", "rb");',
        "    if (file == NULL) return 1;",
        "    size_t missing = 0;",
        *reads,
        "    fclose(file);",
        "    return missing != 0;",
        "}",
    ]


def _timing(language: Language, signature: Signature) -> list[str]:
    """Return the C code that times the function and prints the shortest measurement."""
    arguments = [_name(language, p) if p.shape is not None else "1" for p in signature.parameters]
    arguments += [_size(language, name) for name in signature.sizes]
    result = []
    if signature.returns:
        kind = "int64" if dt.is_bool(signature.returns) else signature.returns
        result, arguments = [f"{language.type(kind)} returned;"], [*arguments, "&returned"]
    return [
        *result,
        "double shortest = 1e30;",
        "long calls = 1;",
        f"for (int repeat = 0; repeat < {_REPEATS};) {{",
        "    double start = seconds();",
        "    for (long call = 0; call < calls; ++call) {",
        f"        int32_t status = {signature.symbol}({', '.join(arguments)});",
        '        if (status != 0) { printf("failed: %d\\n", (int)status); return 1; }',
        "    }",
        "    double time = seconds() - start;",
        f"    if (time < {_LONG_ENOUGH} && calls < 1L << 30) {{ calls *= 2; continue; }}",
        "    if (time / calls < shortest) shortest = time / calls;",
        "    ++repeat;",
        "}",
        f'printf("{signature.symbol}: %.4g us\\n", shortest * 1e6);',
    ]


def _sums(arrays: list[tuple[str, Parameter]]) -> list[str]:
    lines = []
    for name, p in arrays:
        if p.written:
            lines += [
                f"double sum_of_{name} = 0;",
                f"for (long i = 0; i < (long)(sizeof {name} / sizeof *{name}); ++i) sum_of_{name} += {name}[i];",
                f'printf("sum of {name}: %.9g\\n", sum_of_{name});',
            ]
    return lines


def _parameters(language: Language, signature: Signature) -> list[str]:
    texts = []
    for p in signature.parameters:
        pointer = "*" if p.shape is not None else ""
        if p.dtype == "handle":
            pointer = ""  # it is one
        typ = language.type(dt.element(p.dtype) if pointer else passed_type(p.dtype))
        texts.append(f"{typ}{pointer} {_name(language, p)}")
    texts += [f"{language.type(dtype)} {_size(language, name)}" for name, dtype in signature.sizes.items()]
    if signature.returns:
        kind = "int64" if dt.is_bool(signature.returns) else signature.returns
        texts.append(f"{language.type(kind)}* result")
    return texts


def _name(language: Language, p: Parameter) -> str:
    return identifier(p.name, language.reserved | {"main", "seconds", "state"})


def _size(language: Language, name: str) -> str:
    return f"size_{identifier(name, language.reserved)}"


def _array(language: Language, name: str, p: Parameter) -> str:
    extents = [str(e) if isinstance(e, int) else _extent(language, e) for e in p.shape or [1]]
    return f"static {language.type(dt.element(p.dtype))} {name}[{' * '.join(extents) or '1'}];"


def _extent(language: Language, size: object) -> str:
    """Return a symbolic extent as a C constant."""
    if isinstance(size, str):
        return _size(language, size)
    if isinstance(size, list):
        sizes = [_extent(language, each) for each in size[1:]]
        return show_size([size[0], *sizes]).replace("//", "/")
    return str(size)


def _filled(p: Parameter) -> str:
    if dt.is_bool(p.dtype):
        return "next_random() < 0.5"
    return "next_random()" if dt.is_float(p.dtype) else "next_random() * 16"
