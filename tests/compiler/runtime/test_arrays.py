"""Arrays and devices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from compiler.ir.error import ArgumentError, DTypeError
from compiler.ir.memory import ALIGNMENT
from compiler.runtime.arrays.ndarray import ArrayType, NDArray, array, empty, numpyasarray
from compiler.runtime.device import Device, cpu, cuda, device, enabled

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (0, 4), (2, 3, 5)])
def test_arrays_hold_what_they_are_given(dtype: str, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    held = array(values)
    assert (held.shape, held.dtype, held.ndim, held.nbytes) == (shape, dtype, len(shape), values.nbytes)
    assert held.address % ALIGNMENT == 0 or held.nbytes == 0
    np.testing.assert_array_equal(held.numpy(), values)
    np.testing.assert_array_equal(np.asarray(held), values)


def test_numpy_returns_a_copy() -> None:
    held = array(np.zeros(3))
    held.asnumpy()[0] = 1
    assert held.numpy()[0] == 0


def test_copies_between_arrays_and_devices() -> None:
    source = array(np.arange(6, dtype="float32").reshape(2, 3))
    target = empty((2, 3), "int32")
    assert source.copyto(target) is target
    np.testing.assert_array_equal(target.numpy(), [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(source.copyto(cpu(0)).numpy(), source.numpy())
    target.copyfrom([[1, 1, 1], [2, 2, 2]])
    assert target.numpy().sum() == 9
    with pytest.raises(ArgumentError, match=r"copyfrom: source_array must have shape \(2, 3\), got \(3,\)"):
        target.copyfrom([1, 2, 3])
    with pytest.raises(ArgumentError, match="copyto: target must be an NDArray or a Device"):
        source.copyto("cpu")  # type: ignore[arg-type]


def test_elements_are_read_and_written() -> None:
    held = empty(4, "int64")
    held[:] = 7
    held[1] = 3
    assert len(held) == 4
    assert list(held[:]) == [7, 3, 7, 7]
    assert "shape=(4,)" in repr(held)
    assert str(held) == "[7 3 7 7]"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: empty((2, -1)), ArgumentError, "shape must not be negative"),
        (lambda: empty(("n",)), ArgumentError, "shape must be made of ints"),
        (lambda: empty((2,), "float33"), DTypeError, "float has widths"),
        (lambda: empty((2,), "handle"), DTypeError, "arrays cannot hold elements of type 'handle'"),
        (lambda: empty((2,), "float32", cuda(0)), ArgumentError, r"device cuda\(0\) has no runtime on this machine"),
        (lambda: array(np.zeros(2), cpu(1)), ArgumentError, r"device cpu\(1\) has no runtime on this machine"),
        (lambda: numpyasarray(np.zeros((4, 4))[:, ::2]), ArgumentError, "must be C-contiguous"),
        (lambda: device("abacus"), ArgumentError, "device: type must be one of cpu"),
    ],
)
def test_mistakes_are_named(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]


def test_memory_is_shared_where_asked() -> None:
    values = np.zeros(3, "float32")
    shared = numpyasarray(values)
    assert isinstance(shared, NDArray)
    shared[0] = 5
    assert values[0] == 5


def test_a_view_of_another_shape_shares_the_memory() -> None:
    whole = array(np.arange(6, dtype="float32").reshape(2, 3))
    other = whole._create_view((3, 2))
    other[0, 1] = 7.0
    assert whole.numpy().tolist() == [[0, 7, 2], [3, 4, 5]]
    assert not whole.is_view
    with pytest.raises(ArgumentError, match="shape must have 6 elements"):
        whole._create_view((4, 2))


def test_arrays_of_global_memory_can_be_asked_for() -> None:
    made = array(np.zeros(2, "float32"), device=cpu(), mem_scope="global")
    assert made.copyto(cpu(), mem_scope="global").copyfrom(source_array=[1, 2]).numpy().tolist() == [1, 2]
    with pytest.raises(ArgumentError, match="mem_scope must be 'global'"):
        array([1.0], mem_scope="texture")


def test_numbers_of_devices_have_names() -> None:
    assert (Device.kDLCUDA, Device.kDLOpenCL, Device.kDLHexagon, Device.kDLMicroDev) == (2, 4, 16, 35)
    cpu().sync(stream=None)


def test_devices() -> None:
    assert cpu(0).exist
    assert not cpu(1).exist
    assert not cuda(0).exist
    assert device("cpu") == device("llvm") == device(1) == cpu()
    assert str(device("cuda", 2)) == "cuda(2)"
    assert cpu(0).multi_processor_count >= 1
    assert Device.kDLCPU == cpu(0).device_type
    cpu(0).sync()
    with pytest.raises(ArgumentError, match=r"Device.sync: device cuda\(0\) has no runtime on this machine"):
        cuda(0).sync()
    assert enabled("llvm")
    assert not enabled("cuda")


@pytest.mark.parametrize(
    ("shape", "dtype"), [((3,), "float32"), ((), "bool"), ((0, 2), "int64"), ((40, 40), "float64")]
)
def test_arrays_of_one_type_share_no_memory(shape, dtype):
    made = [ArrayType(shape, dtype).empty() for _ in range(3)]
    several = ArrayType(shape, dtype)
    made += [several.empty() for _ in range(600)]
    for number, each in enumerate(made):
        each.view()[...] = number % 2
        assert (each.shape, each.dtype, each.address % 64) == (shape, dtype, 0)
        assert each.address == each.view().__array_interface__["data"][0]
    assert all((each.numpy() == number % 2).all() for number, each in enumerate(made))
    places = sorted((each.address, each.address + each.nbytes) for each in made)
    assert all(end <= start for (_, end), (start, _) in pairwise(places))


def test_numpy_has_the_bits_of_bfloat16() -> None:
    x = empty((2,), "bfloat16").copyfrom(np.array([0x3FC0, 0xC000], "uint16"))
    assert np.asarray(x).tolist() == [1.5, -2.0]
    assert (x.numpy().dtype, x.numpy().tolist()) == ("uint16", [0x3FC0, 0xC000])
    assert empty((2,), "bfloat16").copyfrom(np.array([1.5, -2.0], "float32")).numpy().tolist() == [0x3FC0, 0xC000]
    assert np.asarray(array(np.asarray(x))).tolist() == [1.5, -2.0]


def test_the_name_of_a_device_may_say_which_one() -> None:
    assert device("cuda:2") == cuda(2)
    assert device("cpu:1", 0) == cpu(1)
    with pytest.raises(ArgumentError, match="expected a number behind cuda:"):
        device("cuda:first")
