"""Every operator of graphs is whole: all of its fields are there or waived with a reason, and they agree."""

from __future__ import annotations

import functools
import inspect
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import compiler
from compiler import relay
from compiler.ir.attrs import AttrKind, Attrs
from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.error import ArgumentError, TVMError
from compiler.relay.op.nn.conv_attrs import Conv2DAttrs
from compiler.relay.operator import RelayOp, relay_ops
from tests.compiler.relay.op.example import by_code, by_reference, check_gradient
from tests.compiler.relay.op.examples import EXAMPLES

OPERATORS = relay_ops()
_FIELDS = ("doc", "relation", "compute", "reference", "gradient")
_CASES = [pytest.param(name, i, id=f"{name}-{i}") for name, examples in EXAMPLES.items() for i in range(len(examples))]
_SMOOTH = [
    pytest.param(name, i, id=f"{name}-{i}")
    for name, examples in EXAMPLES.items()
    for i, example in enumerate(examples)
    if OPERATORS[name].gradient and example.smooth
]


def each_operator(check: Callable[[RelayOp], None]) -> Callable[[], None]:
    """Make one test of a check of every operator: a test for each would take longer to begin than to run."""

    def test() -> None:
        for op in OPERATORS.values():
            try:
                check(op)
            except Exception as exc:
                exc.add_note(f"operator: {op}")
                raise

    test.__name__ = check.__name__
    return test


@each_operator
def test_every_field_is_filled_or_waived(op: RelayOp) -> None:
    missing = {field for field in _FIELDS if not getattr(op, field)}
    if any(name.endswith("layout") for name in op.attributes) and op.layout is None:
        missing.add("layout")
    assert missing == set(op.waived), "exactly what is missing is waived"
    assert all(len(reason) > 10 for reason in op.waived.values())
    assert op.doc.endswith(".")
    assert len(set(op.inputs)) == len(op.inputs)


def test_every_operator_with_a_value_has_examples() -> None:
    computed = {name for name, op in OPERATORS.items() if op.compute or op.reference}
    assert computed - {"fail"} == set(EXAMPLES)  # which is computed, and then raises an error in place of a value


@each_operator
def test_everything_is_documented(op: RelayOp) -> None:
    documentation = op.documentation
    assert documentation.summary.endswith((".", "]``."))
    assert documentation.returns.endswith(".")
    for parameter in documentation.parameters:
        assert parameter.doc.endswith("."), f"{parameter.name} needs a sentence"
        assert parameter.type_name
    for name, attribute in op.attributes.items():
        assert attribute.doc.endswith("."), f"{name} needs a sentence"
        assert isinstance(attribute.kind, AttrKind)


@each_operator
def test_attributes_are_declared_with_types(op: RelayOp) -> None:
    assert issubclass(op.attrs_type, Attrs)
    assert not issubclass(op.attrs_type, DictAttrs)
    for name, attribute in op.attributes.items():
        if attribute.is_required:
            continue
        again = attribute.kind.convert(attribute.default, op.attrs_type)
        assert again == attribute.default, f"{name}: values have one form"
        assert type(again) is type(attribute.default)


@each_operator
def test_the_public_function_follows_from_the_row(op: RelayOp) -> None:
    namespace, _, name = op.name.lower().removeprefix("relay.op.").rpartition(".")
    namespace_module = functools.reduce(getattr, namespace.split("."), relay.op) if namespace else relay.op
    function = getattr(namespace_module, name)
    assert name in namespace_module.__all__
    assert function.op is op
    parameters = inspect.signature(function).parameters
    assert list(parameters) == [p.name for p in op.documentation.parameters]
    assert function.__doc__ == op.documentation.docstring()
    assert all(name in parameters or f"``{name}``" in function.__doc__ for name in op.inputs)


def test_wrong_attributes_name_operator_attribute_value_and_expectation() -> None:
    x = relay.var("x", shape=(1, 3, 8, 8))
    for call, message in (
        (
            lambda: relay.nn.max_pool2d(x, pool_size=(1, 2, 3)),
            r"^nn.max_pool2d: pool_size must be an int or 2 of them, got \(1, 2, 3\)$",
        ),
        (lambda: relay.nn.max_pool2d(x, 2, strides=0), r"^nn.max_pool2d: strides must be positive, got 0$"),
        (lambda: relay.nn.leaky_relu(x, "much"), r"^nn.leaky_relu: alpha must be a number, got 'much'$"),
        (lambda: relay.sum(x, keepdims=2), r"^sum: keepdims must be a bool, got 2$"),
        (lambda: relay.sum(x, axes=1), r"^sum: there is no attribute 'axes'; there are axis, keepdims, exclude$"),
        (lambda: relay.transpose(x, "NHWC"), r"^transpose: axes must be an int or a sequence of ints, got 'NHWC'$"),
        (lambda: relay.nn.conv2d(x), r"^nn.conv2d: weight must be given$"),
        (lambda: relay.nn.relu(x, x), r"^nn.relu: takes at most 1 arguments \(data\), got 2$"),
    ):
        with pytest.raises(ArgumentError, match=message):
            call()


def test_values_have_one_form() -> None:
    attrs = Conv2DAttrs.make("nn.conv2d", {"strides": 2, "padding": [1, 2], "channels": np.int64(8)})
    assert (attrs.strides, attrs.padding, attrs.channels) == ((2, 2), (1, 2, 1, 2), 8)
    assert attrs == attrs.with_values(strides=(2, 2))
    assert hash(attrs) == hash(attrs.with_values(dilation=1))
    assert attrs.with_values(strides=1) != attrs
    assert (attrs.get_int("groups"), attrs.get_str("data_layout"), attrs.get_int_tuple("strides")) == (
        1,
        "NCHW",
        (2, 2),
    )
    with pytest.raises(TypeError, match="immutable"):
        attrs.strides = (1, 1)  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(attrs)) == attrs
    assert compiler.ir.make_node("relay.attrs.Conv2DAttrs", strides=2, padding=(1, 2), channels=8) == attrs
    with pytest.raises(TVMError, match=r"there are no attributes of type 'relay.attrs.Conv9DAttrs'"):
        compiler.ir.make_node("relay.attrs.Conv9DAttrs")


@pytest.mark.sample(4)
@pytest.mark.parametrize(("name", "index"), _CASES)
def test_reference_and_code_agree(name: str, index: int) -> None:
    example = EXAMPLES[name][index]
    call = example.call(example.variables)
    assert call.op.name == name
    references = by_reference(example)
    if example.wanted is not None:
        wanted = example.wanted if len(references) > 1 else [example.wanted]
        for found, w in zip(references, wanted, strict=True):
            np.testing.assert_allclose(found, w, rtol=1e-5, atol=1e-6)
    if call.op.compute is not None:
        for found, reference in zip(by_code(example), references, strict=True):
            assert (found.shape, found.dtype) == (reference.shape, reference.dtype)
            np.testing.assert_allclose(found, reference, rtol=example.tolerance, atol=example.tolerance)


@pytest.mark.parametrize(("name", "index"), _SMOOTH)
def test_gradients_are_slopes(name: str, index: int) -> None:
    check_gradient(EXAMPLES[name][index])
