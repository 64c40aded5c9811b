"""Memory of executors is in huge pages where the system has them."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import nd, relay
from compiler.classic.relay.backend import Executor
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.memory import ALIGNMENT
from compiler.runtime.arrays.huge_pages import copied_together, lasting_memory
from compiler.runtime.arrays.ndarray import NDArray


@pytest.mark.parametrize("size", [100, (1 << 21) - 1, 1 << 21, 5_000_001])
def test_memory_has_its_size_and_begins_where_arrays_do(size: int) -> None:
    memory = lasting_memory(size)
    assert memory.shape == (size,)
    assert memory.ctypes.data % ALIGNMENT == 0
    memory[:] = 7
    assert int(np.sum(memory, dtype=np.int64)) == 7 * size


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="the system has no huge pages")
def test_what_fills_a_huge_page_begins_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    advice: list[int] = []

    class Recorded(mmap.mmap):
        def madvise(self, option: int, *args: int) -> None:
            advice.append(option)
            raise OSError("a system that was built without huge pages")

    monkeypatch.setattr(mmap, "mmap", Recorded)
    assert lasting_memory(1 << 21).ctypes.data % (1 << 21) == 0
    lasting_memory(1 << 20)
    assert advice == [mmap.MADV_HUGEPAGE]


def test_a_system_that_knows_no_huge_pages_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise AssertionError("asked")

    monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    monkeypatch.setattr(mmap, "mmap", refused)
    assert lasting_memory(3 << 20).size == 3 << 20


@pytest.mark.parametrize("size", [1 << 60, 1 << 70])
def test_too_much_memory_is_a_memory_error(size: int) -> None:
    with pytest.raises(MemoryError):
        lasting_memory(size)


def test_copies_lie_one_behind_the_other_and_what_comes_again_is_copied_once() -> None:
    given = [nd.array(np.arange(n, dtype=kind)) for n, kind in ((5, "float32"), (0, "int8"), (700_000, "int64"))]
    scalar = nd.array(np.float32(3.5))
    (first, again), rest = copied_together([given[0], given[0]], [*given[1:], scalar])
    for value, copied in zip([*given, scalar], [first, *rest], strict=True):
        assert (copied.shape, copied.dtype, copied.address % ALIGNMENT) == (value.shape, value.dtype, 0)
        np.testing.assert_array_equal(copied.numpy(), value.numpy())
    assert again.address == first.address == rest[1].address - ALIGNMENT != given[0].address


class Read(Instrument):
    """Notes which arrays compiled code is called with."""

    def __init__(self) -> None:
        self.arrays: list[NDArray] = []

    def before_call(self, callee: object, name: str, args: Any) -> None:
        self.arrays += [arg for arg in args if isinstance(arg, NDArray)]


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="the system has no huge pages")
@pytest.mark.parametrize("executor", ["aot", "vm"])
def test_the_weights_of_a_model_are_side_by_side_from_the_beginning_of_a_huge_page(executor: str) -> None:
    shape = (700, 1000)
    x = relay.var("x", shape=shape)
    weights = [np.full(shape, value, "float32") for value in (2, 3)]
    mod = tvm.IRModule.from_expr(relay.Function([x], x * relay.const(weights[0]) + relay.const(weights[1])))
    if executor == "vm":
        arrays = relay.vm.compile(mod, "llvm").constants
    else:
        read = Read()
        model = relay.build(mod, "llvm", executor=Executor("aot"))["default"](tvm.cpu(0))
        with instrumented(read):
            model.run()
        arrays = read.arrays
    first, last = (next(each.address for each in arrays if np.array_equal(each.numpy(), w)) for w in weights)
    assert sorted([first, last])[0] % (1 << 21) == 0
    assert abs(last - first) == weights[0].nbytes
