"""Reading Relay's text format: what TVM 0.19 printed, what people write, and what is wrong with the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.relay.prelude import Prelude
from compiler.ir import structural_equal
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.relay.interpreter import Interpreter
from compiler.relay.parser import ParseError, fromtext, parse, parse_expr
from compiler.relay.printer import astext
from tests.growth import assert_linear

# As TVM 0.19 prints it.
FROM_TVM = """#[version = "0.0.5"]
type List[A] {
  Cons(A, List[A]),
  Nil,
}

def @length[A](%xs: List[A] /* ty=List[A] */) -> int32 {
  match (%xs) {
    Cons(%h: A /* ty=A */, %t: List[A] /* ty=List[A] */) => {
      %0 = @length(%t) /* ty=int32 */;
      add(1 /* ty=int32 */, %0) /* ty=int32 */
    },
    Nil => {
      0 /* ty=int32 */
    },
  }
}

def @main(%y: float32 /* ty=float32 */) -> (int32, Tensor[(3), float32]) {
  %1 = add(%y, %y) /* ty=float32 */;
  %2 = Nil /* ty=List[float32] */;
  %3 = Cons(%1, %2) /* ty=List[float32] */;
  %4 = Cons(%y, %3) /* ty=List[float32] */;
  %5 = @length(%4) /* ty=int32 */;
  (%5, meta[relay.Constant][0] /* ty=Tensor[(3), float32] */)
}

#[metadata]
{
  "root": 1,
  "nodes": [
    {
      "type_key": ""
    },
    {
      "type_key": "Map",
      "keys": [
        "relay.Constant"
      ],
      "data": [2]
    },
    {
      "type_key": "Array",
      "data": [3]
    },
    {
      "type_key": "relay.Constant",
      "attrs": {
        "_checked_type_": "0",
        "data": "0",
        "span": "0",
        "virtual_device_": "4"
      }
    },
    {
      "type_key": "VirtualDevice",
      "attrs": {
        "device_type_int": "-1",
        "memory_scope": "5",
        "target": "0",
        "virtual_device_id": "-1"
      }
    },
    {
      "type_key": "runtime.String"
    }
  ],
  "b64ndarrays": [
    "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQADAAAAAAAAAAwAAAAAAAAAAAAAAAAAgD8AAABA"
  ],
  "attrs": {"tvm_version": "0.19.0"}
}"""


def test_what_tvm_prints_is_read_and_runs() -> None:
    mod = parse(FROM_TVM)
    length, constant = Interpreter(mod).evaluate("main", [1.0])
    assert int(length) == 2
    np.testing.assert_array_equal(constant, np.arange(3, dtype="float32"))
    texts = [re.sub(r" /\*.*?\*/", "", text).split("\n#[metadata]")[0].split() for text in (mod.astext(), FROM_TVM)]
    assert texts[0] == texts[1]


def test_the_prelude_survives() -> None:
    mod = Prelude().mod
    again = parse(mod.astext())
    assert structural_equal(again, relay.transform.InferType()(mod))


def test_what_people_write_by_hand() -> None:
    mod = parse(
        """
        // a comment
        def @main(%x: int32, %y: int32) -> (int32, bool) {
          let %z = %x + 3 * (%y - -2);   /* infix
                                            operators */
          (%z / 2, %z < %x)
        }
        """
    )
    value, less = Interpreter(mod).evaluate("main", [1, 5])
    assert int(value) == 11
    assert not less


def test_sequences_and_chained_branches() -> None:
    program = parse_expr(
        """
        let %r = ref(1);
        ref_write(%r, 2);
        if (False) { 0 } else if (True) { ref_read(%r) } else { 0 }
        """
    )
    assert int(Interpreter().evaluate(program)) == 2


def test_values_of_a_branch_can_be_used_in_the_other_as_tvm_prints_it() -> None:
    func = parse_expr("fn (%c: bool, %y: float32) { if (%c) { %0 = nn.relu(%y); nn.relu(%0) } else { %0 } }")
    assert func.body.false_branch is func.body.true_branch.args[0]


def test_fields_and_names_with_dots() -> None:
    expr = parse_expr("free_var %a.1: float32; free_var %t: (int32, (int32, bool)); (%a.1, %t.1.0, (%t, 3).0)")
    first, second, third = expr.fields
    assert isinstance(first, relay.Var)
    assert (second.index, second.tuple_value.index) == (0, 1)
    assert isinstance(third.tuple_value, relay.Tuple)


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("3", "int32", 3),
        ("-3i64", "int64", -3),
        ("7u8", "uint8", 7),
        ("True", "bool", 1),
        ("1f", "float32", 1),
        ("1e-05f", "float32", 1e-5),
        ("-inff", "float32", float("-inf")),
        ("1.5f16", "float16", 1.5),
        ("2.5f64", "float64", 2.5),
    ],
)
def test_scalars(text: str, dtype: str, value: float) -> None:
    constant = parse_expr(text)
    assert constant.data.dtype == dtype
    np.testing.assert_allclose(constant.data.numpy(), value, rtol=1e-6)


def test_a_module_is_made_of_an_expression_and_extended() -> None:
    first = parse("fn (%x: int32) { %x }")
    assert [var.name_hint for var in first] == ["main"]
    both = parse("def @twice(%x: int32) { @main(@main(%x)) }", init_module=first)
    assert int(Interpreter(both).evaluate("twice", [7])) == 7
    assert "twice" not in first
    assert isinstance(fromtext("1"), relay.Constant)
    assert isinstance(fromtext("def @f() { 1 }"), IRModule)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("def @main(%x: int32) {\n  nn.relu(%y)\n}", 2, 11, "variable %y is not defined here"),
        ("def @main(%x) {\n nn.rel(%x)}", 2, 2, "no operator or constructor is named 'nn.rel'; did you mean nn.relu?"),
        ("nn.relu(1f, 2f)", 1, 1, "nn.relu takes 1 arguments (data), got 2"),
        ("nn.softmax(1f, axes=3)", 1, 1, "nn.softmax: there is no attribute 'axes'"),
        ("fn (%x { 1 }", 1, 8, "expected ')', got '{'"),
        ("fn (%x: Foo) { 1 }", 1, 9, "no type is named 'Foo'"),
        ("fn (%x: Tensor[(1, 2), float33]) { 1 }", 1, 24, "float has widths"),
        ("def @main() { @foo() }", 1, 15, "no function is named @foo"),
        ("def @f() { 1 } def @f() { 2 }", 1, 20, "function @f is defined twice"),
        ("let %x = 3", 1, 11, "expected ';', got the end of the text"),
        ("meta[relay.Constant][3]", 1, 1, "in the metadata section, which has none"),
        ("match (1) { Cons(%a) => { 1 } }", 1, 13, "no constructor is named 'Cons'"),
        ("1.5i32", 1, 1, "expected a whole number"),
        ("1 $", 1, 3, "unexpected character '$'"),
        ("", 1, 1, "expected an expression, got the end of the text"),
        ("1 2", 1, 3, "expected the end of the text, got '2'"),
        ("def @main() { 1 } 3", 1, 19, "expected 'def', 'type' or 'extern type', got '3'"),
        ("300u8", 1, 1, "300"),
        ("type", 1, 5, "expected the name of a type, got the end of the text"),
        ("type A {", 1, 9, "got the end of the text"),
        ("type A { B } type A { C }", 1, 19, "type A is defined twice"),
        ("type A { B } type C { B }", 1, 23, "constructor B is defined twice"),
        ("1 /* a /* b */", 1, 3, "the comment that begins here does not end"),
        ('%f(1, attrs_type_key="attrs.None")', 1, 1, "variable %f is not defined here"),
        ('fn () { 1 }(attrs_type_key="attrs.None")', 1, 1, "there are no attributes of type 'attrs.None'"),
        ("ref_write(1)", 1, 1, "ref_write takes 2 arguments, got 1"),
    ],
)
def test_errors_say_where_and_what_was_expected(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"parse: line {line}, column {column}: ")


def test_nodes_that_tvm_puts_into_the_metadata_section() -> None:
    nodes = [
        {"type_key": ""},
        {"type_key": "Map", "keys": ["tir.SizeVar", "runtime.BoxInt"], "data": [2, 3]},
        {"type_key": "Array", "data": [4]},
        {"type_key": "Array", "data": [5]},
        {"type_key": "tir.SizeVar", "attrs": {"dtype": "int32", "name": "6", "span": "0", "type_annotation": "7"}},
        {"type_key": "runtime.BoxInt", "repr_str": "2"},
        {"type_key": "runtime.String", "repr_str": "n"},
        {"type_key": "PrimType", "attrs": {"dtype": "int32"}},
    ]
    section = json.dumps({"root": 1, "nodes": nodes, "b64ndarrays": []})
    size = "Tensor[(4, meta[tir.SizeVar][0]), float32]"
    call = "split(%x, indices_or_sections=meta[runtime.BoxInt][0])"
    main = parse(f"def @main(%x: {size}, %y: {size}) {{ {call} }}\n#[metadata]\n{section}")["main"]
    first, second = (param.type_annotation.shape[1] for param in main.params)
    assert first is second
    assert (first.name, type(first).__name__) == ("n", "SizeVar")
    assert main.body.attrs.indices_or_sections == 2


def test_a_broken_metadata_section_and_what_is_no_text() -> None:
    with pytest.raises(ArgumentError, match="section cannot be read"):
        parse('def @main() { 1 }\n#[metadata]\n{"root": 7}')
    wrong: Any = b"def"
    with pytest.raises(ArgumentError, match="parse: source must be a string"):
        parse(wrong)


def test_deep_nesting_is_an_error_and_long_chains_are_not() -> None:
    with pytest.raises(ParseError, match="nested too deeply"):
        parse("(" * 25_000 + "1" + ")" * 25_000)

    def chain(length: int) -> Callable[[], object]:
        lines = "".join(f"%{i + 1} = nn.relu(%{i});\n" for i in range(length))
        lets = "".join(f"let %x{i} = nn.relu(1f);\n" for i in range(length))
        return lambda: parse(f"def @main(%x: float32) {{ %0 = nn.relu(%x); {lines} {lets} %{length} }}")

    assert_linear(chain, 200)


def test_a_parsed_module_has_types() -> None:
    mod = parse("def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }")
    assert mod["main"].body.checked_type == relay.TensorType((2, 3), "float32")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1 == 1 < 1 + 1 * 1", "1 == (1 < (1 + (1 * 1)))"),
        ("1 < 2 == 3", "(1 < 2) == 3"),
        ("--10", "10"),
        ("---10", "-10"),
        ("/* a /* b */ c */ 3", "3"),
        ("let %x: _ = 1; %x", "let %x = 1; %x"),
    ],
)
def test_two_spellings_of_one_expression(text: str, same: str) -> None:
    assert structural_equal(parse_expr(text), parse_expr(same), map_free_vars=True)


@pytest.mark.parametrize(
    ("text", "dtype"), [("2147483647", "int32"), ("-2147483648", "int32"), ("2147483648", "int64")]
)
def test_whole_numbers_are_as_wide_as_they_must_be(text: str, dtype: str) -> None:
    constant = parse_expr(text)
    assert (constant.data.dtype, constant.data.numpy().item()) == (dtype, int(text))


def test_types_without_constructors_are_external() -> None:
    mod = parse("extern type T[A]\ntype Empty { }\ndef @main(%x: T[int32]) { %x }")
    assert [len(data.constructors) for data in mod.type_definitions.values()] == [0, 0]
    assert "extern type T[A]" in mod.astext()
    assert structural_equal(parse(mod.astext()), mod)


def test_a_module_of_types_alone_is_written_and_read() -> None:
    mod = parse("type Either[A, B] { Left(A), Right(B) }")
    assert structural_equal(parse(mod.astext()), mod)


def test_global_functions_and_operators_are_expressions_of_their_own() -> None:
    assert astext(parse_expr("@foo")) == '#[version = "0.0.5"]\n@foo'
    assert astext(parse_expr("nn.relu")) == '#[version = "0.0.5"]\nnn.relu'


def test_attributes_of_a_class_are_written_and_read() -> None:
    text = 'fn (%x: int32) { %x }(1, name="a", attrs_type_key="attrs.TestAttrs")'
    call = parse_expr(text)
    assert (call.attrs.name, call.attrs.axis) == ("a", 10)
    assert structural_equal(parse_expr(call.astext()), call)


def test_constants_of_a_table() -> None:
    table = {"relay.Constant": [relay.const(np.arange(3, dtype="float32"))]}
    mod = parse("def @main() { meta[relay.Constant][0] }", "from_string", None, table)
    np.testing.assert_array_equal(mod["main"].body.data.numpy(), np.arange(3))


def test_the_empty_tuple_is_a_constant() -> None:
    one, x = relay.Tuple(()), relay.var("x", "int32")
    twice = relay.Tuple((one, one))
    assert structural_equal(twice, relay.Tuple((relay.Tuple(()), relay.Tuple(()))))
    shared = relay.Tuple((x,))
    assert not structural_equal(relay.Tuple((shared, shared)), relay.Tuple((relay.Tuple((x,)), relay.Tuple((x,)))))


@pytest.mark.parametrize("name", ["int", "uint", "float"])
def test_data_types_without_a_width_have_32_bits(name: str) -> None:
    main = relay.parse(f'#[version = "0.0.5"]\ndef @main(%x: {name}, %y: Tensor[(2), {name}]) {{ %x }}')["main"]
    assert [p.type_annotation.dtype for p in main.params] == [f"{name}32"] * 2


@pytest.mark.parametrize(
    ("call", "left_out"),
    [
        ("nn.batch_matmul(%x, %x)", {"transpose_a": False, "transpose_b": False}),
        ("nn.leaky_relu(%x)", {"alpha": 0.25}),
        ("nn.lrn(%x)", {"alpha": 1e-4}),
        ("image.resize1d(%x, size=[2])", {"rounding_method": "round"}),
        ("concatenate((%x, %x))", {"axis": 0}),
    ],
)
def test_what_a_text_leaves_out_is_not_always_the_default_of_programs(call: str, left_out: dict[str, Any]) -> None:
    """TVM 0.19 writes no attribute whose value is that of its C++ class, which Python's functions need not share."""
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3, 3), float32]) {{ {call} }}'
    made = fromtext(text)["main"].body
    assert {name: made.attrs[name] for name in left_out} == left_out
    assert call in str(fromtext(text)).replace("%0", "(%x, %x)")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("(%x, %x) .5f", "expected the number of an element, got '5f'"),
        ("meta[relay.Constant][1e9]", "expected the number of a constant, got '1e9'"),
    ],
)
def test_numbers_of_elements_and_constants_are_whole(body: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        fromtext(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) {{ {body} }}')
