"""Texts of users' programs cannot break out of the programs that are printed: no language takes one for code."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.ir.error import TVMError

HOSTILE = '"; } /* evil */ #define X\n#include "/etc/passwd"\\\n } void evil() { int x = 1; //*/ ${x} \r\u2028 }}'
LANGUAGES = ("c", "cuda", "opencl", "metal", "webgpu")
ASSEMBLIES = ("nvptx", "rocm")
Scheduled = tuple[te.Schedule, list[te.Tensor]]


def _scheduled(
    kind: str,
    element: Callable[..., tir.PrimExpr] = lambda x: x + 1.0,
    names: tuple[str, str] = ("A", "B"),
    scope: str = "",
    tag: str = "threadIdx.x",
    axis: str = "",
    pragma: tuple[str, str] | None = None,
) -> Scheduled:
    a = te.placeholder((128,), name=names[0])
    b = te.compute((128,), lambda i: element(a[i]), name=names[1])
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], 8)
    staged = s.cache_read(a, scope, [b]) if scope else None
    if kind != "c":
        s[b].bind(outer, te.thread_axis("blockIdx.x"))
        s[b].bind(inner, te.thread_axis(tag, name=axis))
    if staged is not None:
        s[staged].compute_at(s[b], inner)
    if pragma is not None:
        s[b].pragma(outer, *pragma)
    return s, [a, b]


def _extern(name: str, *more: str) -> Callable[[str], Scheduled]:
    return lambda kind: _scheduled(kind, lambda x: tir.call_pure_extern("float32", name, x, *more))


_NAMED: dict[str, Callable[[str], Scheduled]] = {
    "an input": lambda kind: _scheduled(kind, names=(HOSTILE, "B")),
    "an output": lambda kind: _scheduled(kind, names=("A", HOSTILE)),
    "a staged tensor": lambda kind: _scheduled(kind, names=(HOSTILE, "B"), scope="shared"),
    "a thread axis": lambda kind: _scheduled(kind, axis=HOSTILE),
    "a pragma": lambda kind: _scheduled(kind, pragma=(HOSTILE, HOSTILE)),
    "imported C": lambda kind: _scheduled(kind, pragma=("import_c", HOSTILE)),
}
_REFUSED: dict[str, Callable[[str], Scheduled]] = {
    "a scope": lambda kind: _scheduled(kind, scope=HOSTILE),
    "the tag of a thread axis": lambda kind: _scheduled(kind, tag=HOSTILE),
    "an extern function": _extern(HOSTILE),
    "an extern function, nearly a name": _extern("sqrtf(evil"),
    "inline assembly": _extern("asm", "trap;"),
    "a statement": _extern("return"),
    "another statement": _extern("while"),
}


def _source(kind: str, scheduled: Scheduled, name: str = "main") -> str:
    built = tvm.build(*scheduled, kind, name=name)
    return str((built if kind == "c" else built.imported_modules[0]).get_source())


def _require_harmless(source: str, kind: str) -> None:
    """Outside of quotes the text left nothing but letters, digits and underscores."""
    comment = r"(//|;).*" if kind in ASSEMBLIES else r"//.*"
    code = re.sub(comment, "", re.sub(r'"(\\.|[^"\\\n])*"', '""', source))
    assert not re.search(r"\bevil\b|/etc|#define|passwd\"|\u2028|\r", code), source
    if kind in LANGUAGES:
        assert code.count("{") == code.count("}")
        assert set(re.findall(r"^#.*", source, re.M)) <= {
            "#include <math.h>", "#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>",
            "#include <stdlib.h>", "#include <string.h>", "#include <metal_stdlib>",
        }  # fmt: skip


@pytest.mark.parametrize("name", ["Ä", "Bß漢字", "a b", 'x"y', "%"])
def test_llvm_takes_names_in_any_script(name: str) -> None:
    s, args = _scheduled("c", names=("A" + name, "B" + name))
    values, result = tvm.nd.array(np.arange(128, dtype="float32")), tvm.nd.empty((128,), "float32")
    tvm.build(s, args, "llvm", name=name)(values, result)
    np.testing.assert_array_equal(result.numpy(), values.numpy() + 1)


@pytest.mark.parametrize("kind", LANGUAGES + ASSEMBLIES)
def test_names_become_identifiers(kind: str) -> None:
    for what, made in _NAMED.items():
        source = _source(kind, made(kind))
        _require_harmless(source, kind)
        assert len(source.splitlines()) > 3, what
    _require_harmless(_source(kind, _scheduled(kind), HOSTILE), kind)


@pytest.mark.parametrize("kind", LANGUAGES + ASSEMBLIES)
def test_what_cannot_be_spelled_is_refused(kind: str) -> None:
    for what, made in _REFUSED.items():
        if kind == "c" and what in ("a scope", "the tag of a thread axis"):
            continue  # it has neither
        if kind in ASSEMBLIES and what == "a scope":
            continue  # LLVM gives every other memory of a thread one address space
        with pytest.raises(TVMError, match=r"not a function name|has no code for|no memory of scope|no thread axis"):
            _source(kind, made(kind))


@pytest.mark.parametrize("kind", LANGUAGES)
def test_texts_stay_within_their_quotes(kind: str) -> None:
    source = _source(kind, _extern("round", HOSTILE)(kind))
    (line,) = (line for line in source.splitlines() if "evil" in line)
    assert re.search(r'\bround\(.*, "([^"\\\n]|\\[0-7]{3})*"\)', line), line
    _require_harmless(source, kind)


@pytest.mark.parametrize("kind", LANGUAGES)
def test_functions_whose_names_become_one(kind: str) -> None:
    module = tvm.IRModule()
    for name in ("f g", "f_g", "f.g"):
        module.update(tvm.lower(*_scheduled(kind), name=name))
    built = tvm.build(module, target=kind)
    source = str((built if kind == "c" else built.imported_modules[0]).get_source())
    heads = re.findall(r"(?:int32_t|void|fn|\)) (f_\w+)\(.*\{", source)
    assert len(set(heads)) == len(heads) == 3, heads
