"""What graphs look like as text, line by line as TVM 0.19 prints them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import relay, tir
from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.error import ArgumentError
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.origin import OriginTable, recording
from compiler.relay.inference import infer_module
from compiler.relay.printer import relay_text
from tests.growth import assert_linear

public: Any = relay
nn = public.nn
relu = nn.relu


def lines(value: Any) -> list[str]:
    return [line for line in str(value).split("\n") if line]


def scalar(name: str) -> relay.Var:
    return relay.var(name, shape=())


def test_a_network_before_and_after_inference() -> None:
    x, w = relay.var("x", shape=(1, 784)), relay.var("w1", shape=(256, 784))
    b = relay.var("b1", shape=(256,))
    mod = IRModule.from_expr(relay.Function((x, w, b), relu(nn.bias_add(nn.dense(x, w), b))))
    assert lines(mod) == [
        "def @main(%x: Tensor[(1, 784), float32], %w1: Tensor[(256, 784), float32], %b1: Tensor[(256), float32]) {",
        "  %0 = nn.dense(%x, %w1, units=None);",
        "  %1 = nn.bias_add(%0, %b1);",
        "  nn.relu(%1)",
        "}",
    ]
    typed = infer_module(mod)
    assert lines(typed)[1:] == [
        "  %0 = nn.dense(%x, %w1, units=None) /* ty=Tensor[(1, 256), float32] */;",
        "  %1 = nn.bias_add(%0, %b1) /* ty=Tensor[(1, 256), float32] */;",
        "  nn.relu(%1) /* ty=Tensor[(1, 256), float32] */",
        "}",
    ]
    assert lines(typed)[0].startswith("def @main(%x: Tensor[(1, 784), float32] /* ty=Tensor[(1, 784), float32] */, ")
    assert lines(typed)[0].endswith("-> Tensor[(1, 256), float32] {")
    assert lines(typed["main"])[-1] == (
        "} /* ty=fn (Tensor[(1, 784), float32], Tensor[(256, 784), float32], Tensor[(256), float32])"
        " -> Tensor[(1, 256), float32] */"
    )
    assert typed.astext().startswith('#[version = "0.0.5"]\ndef @main(')


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda x, w: nn.conv2d(x, w), "nn.conv2d(%x, %w, padding=[0, 0, 0, 0])"),
        (
            lambda x, w: nn.conv2d(x, w, strides=(2, 2), padding=(1, 1)),
            "nn.conv2d(%x, %w, strides=[2, 2], padding=[1, 1, 1, 1])",
        ),
        (
            lambda x, w: nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2), ceil_mode=True),
            "nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0], ceil_mode=True)",
        ),
        (lambda x, w: nn.softmax(x), "nn.softmax(%x)"),
        (lambda x, w: nn.softmax(x, axis=1), "nn.softmax(%x, axis=1)"),
        (lambda x, w: nn.leaky_relu(x, alpha=0.01), "nn.leaky_relu(%x, alpha=0.01f)"),
        (lambda x, w: nn.layer_norm(x, w, w, epsilon=1e-5), "nn.layer_norm(%x, %w, %w)"),
        (lambda x, w: nn.layer_norm(x, w, w, epsilon=9.999999747378752e-06), "nn.layer_norm(%x, %w, %w)"),
        (lambda x, w: nn.layer_norm(x, w, w, epsilon=2e-5), "nn.layer_norm(%x, %w, %w, epsilon=2e-05f)"),
        (lambda x, w: nn.batch_flatten(x), "nn.batch_flatten(%x)"),
    ],
)
def test_attributes_are_written_where_they_say_something(made: Any, text: str) -> None:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    assert lines(made(x, w))[-1] == text


def test_scalars_stand_in_the_text() -> None:
    values: list[tuple[Any, str]] = [
        (3, "3"),
        (True, "True"),
        (2.5, "2.5f"),
        (1e-5, "1e-05f"),
        (float("inf"), "inff"),
        (-1.5, "-1.5f"),
    ]
    values += [(np.float16(1.5), "1.5f16"), (-0.0, "-0f"), (np.int64(7), "7"), (np.float64(2.5), "2.5f")]
    assert [str(relay.const(value)) for value, _ in values] == [text for _, text in values]
    assert [str(relay.const(7, "int64")), str(relay.const(2.5, "float64"))] == ["7i64", "2.5f64"]


def test_floats_have_as_many_digits_as_it_takes() -> None:
    for value in np.random.default_rng(0).standard_normal(200).astype("float32"):
        assert np.float32(str(relay.const(value)).removesuffix("f")) == value


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: relay.TensorType((1, 3, 224, 224)), "Tensor[(1, 3, 224, 224), float32]"),
        (lambda: relay.TensorType((256,), "int8"), "Tensor[(256), int8]"),
        (lambda: relay.TensorType((), "bool"), "bool"),
        (lambda: relay.TensorType((relay.Any(), 3)), "Tensor[(?, 3), float32]"),
        (lambda: relay.TensorType((tir.Var("n", "int32"), 3)), "Tensor[(n, 3), float32]"),
        (lambda: relay.TensorType((tir.Var("n", "int64") * 2 + 1,)), "Tensor[(n: int64 * 2 + 1), float32]"),
        (lambda: relay.TupleType(()), "()"),
        (lambda: relay.TupleType((relay.scalar_type("int32"),)), "(int32,)"),
        (lambda: relay.RefType(relay.scalar_type("int32")), "ref(int32)"),
        (lambda: relay.GlobalTypeVar("List")(relay.scalar_type("int32")), "List[int32]"),
    ],
)
def test_types(made: Any, text: str) -> None:
    assert str(made()) == text


def test_generic_function_types_and_two_variables_of_one_name() -> None:
    a, b = relay.TypeVar("A"), relay.TypeVar("A")
    assert str(relay.FuncType((a, b), a, (a, b))) == "fn [A, A1](A, A1) -> A"


def test_branches_and_lets() -> None:
    c, y, q = relay.var("c", "bool"), scalar("y"), relay.var("q")
    branch = relay.If(c, relu(relu(y)), y)
    assert lines(relay.Function((c, y), relay.Let(q, branch, relu(q)))) == [
        "fn (%c: bool, %y: float32) {",
        "  let %q = if (%c) {",
        "    %0 = nn.relu(%y);",
        "    nn.relu(%0)",
        "  } else {",
        "    %y",
        "  };",
        "  nn.relu(%q)",
        "}",
    ]


def test_numbers_are_given_to_the_operands_of_a_user_together() -> None:
    """Where a kernel or a branch stands among them, its own come first, as in TVM 0.19."""
    x, y, z = scalar("x"), scalar("y"), relay.var("z")
    parts = public.split(relay.var("v", shape=(3,)), 3)
    joined = relay.Tuple([public.exp(parts[0]), parts[1], public.exp(parts[2])])
    assert lines(joined)[1:] == [
        "%0 = split(%v, indices_or_sections=3);",
        "%1 = %0.0;",
        "%2 = %0.2;",
        "%3 = exp(%1);",
        "%4 = %0.1;",
        "%5 = exp(%2);",
        "(%3, %4, %5)",
    ]
    kernel = relay.Function([z], public.exp(public.tanh(z)))
    chosen = relay.If(public.less(public.exp(x), y), public.exp(public.tanh(y)), y)
    numbered = [line for line in lines(public.add(relay.Call(kernel, [public.exp(x)]), chosen)) if " = " in line]
    assert [line.strip() for line in numbered] == [
        "%1 = exp(%x);",
        "%2 = fn (%z) {",
        "%0 = tanh(%z);",
        "%3 = exp(%x);",
        "%4 = less(%3, %y);",
        "%6 = %2(%1);",
        "%7 = if (%4) {",
        "%5 = tanh(%y);",
    ]


def test_what_is_called_is_named_before_what_it_is_called_with() -> None:
    """Parameters and large constants as TVM 0.19 numbers them: those of the first user first."""

    def kernel() -> relay.Function:
        p = scalar("p")
        return relay.Function([p], public.exp(p))

    x = scalar("p")
    nested = lines(relay.Function([x], relay.Call(kernel(), [relay.Call(kernel(), [x])])))
    assert nested[:2] == ["fn (%p: float32) {", "  %0 = fn (%p2: float32) {"]
    assert nested[5:6] == ["  %2 = fn (%p1: float32) {"]
    ones, twos = (relay.const(np.full(2, value, "float32")) for value in (1, 2))
    v = relay.var("v", shape=(2,))
    assert lines(public.add(ones, public.multiply(twos, v)))[1:] == [
        "%0 = multiply(meta[relay.Constant][1], %v);",
        "add(meta[relay.Constant][0], %0)",
    ]
    assert lines(public.add(scalar("a"), public.exp(scalar("b"))))[:3] == [
        "free_var %b: float32;",
        "free_var %a: float32;",
        "%0 = exp(%b);",
    ]


def test_what_two_branches_share_stands_before_them() -> None:
    c, y = relay.var("c", "bool"), scalar("y")
    shared = relu(y)
    assert lines(relay.Function((c, y), relay.If(c, relu(shared), shared)))[1:3] == [
        "  %0 = nn.relu(%y);",
        "  if (%c) {",
    ]


def test_a_let_that_is_an_operand_has_parentheses() -> None:
    y, q = scalar("y"), relay.var("q")
    assert lines(relay.Function((y,), relu(relay.Let(q, relu(y), q)))) == [
        "fn (%y: float32) {",
        "  %0 = (",
        "    let %q = nn.relu(%y);",
        "    %q",
        "  );",
        "  nn.relu(%0)",
        "}",
    ]


def test_functions_in_functions_and_groups() -> None:
    y, z = scalar("y"), scalar("z")
    group = relay.Function((z,), relu(relu(z)), attrs=DictAttrs(Primitive=1))
    assert lines(relay.Function((y,), relay.Call(group, (relay.Call(group, (y,)),)))) == [
        "fn (%y: float32) {",
        "  %1 = fn (%z: float32, Primitive=1) {",
        "    %0 = nn.relu(%z);",
        "    nn.relu(%0)",
        "  };",
        "  %2 = %1(%y);",
        "  %1(%2)",
        "}",
    ]


def test_data_types_and_matches() -> None:
    mod = IRModule()
    a, header, length = relay.TypeVar("A"), relay.GlobalTypeVar("List"), GlobalVar("length")
    cons = relay.Constructor("Cons", (a, header(a)), header)
    nil = relay.Constructor("Nil", (), header)
    mod.type_definitions[header] = relay.TypeData(header, (a,), (cons, nil))
    xs, h, t = relay.Var("xs", header(a)), relay.Var("h"), relay.Var("t", header(a))
    clauses = (
        relay.Clause(relay.PatternConstructor(cons, (relay.PatternVar(h), relay.PatternVar(t))), length(t)),
        relay.Clause(relay.PatternConstructor(nil), relay.const(0)),
    )
    mod[length] = relay.Function((xs,), relay.Match(xs, clauses), relay.scalar_type("int32"), (a,))
    y = scalar("y")
    mod["main"] = relay.Function((y,), length(cons(y, nil())))
    assert str(mod).split("\n") == [
        "type List[A] {",
        "  Cons(A, List[A]),",
        "  Nil,",
        "}",
        "",
        "def @length[A](%xs: List[A]) -> int32 {",
        "  match (%xs) {",
        "    Cons(%h, %t: List[A]) => {",
        "      @length(%t)",
        "    },",
        "    Nil => {",
        "      0",
        "    },",
        "  }",
        "}",
        "",
        "def @main(%y: float32) {",
        "  %0 = Nil;",
        "  %1 = Cons(%y, %0);",
        "  @length(%1)",
        "}",
    ]


def test_tuples_references_and_incomplete_matches() -> None:
    y, p, r = scalar("y"), relay.Var("p"), relay.Var("r")
    match = relay.Match(
        relay.Tuple((y, y)),
        (
            relay.Clause(relay.PatternTuple((relay.PatternVar(p), relay.PatternWildcard())), p),
            relay.Clause(relay.PatternWildcard(), y),
        ),
        complete=False,
    )
    assert lines(relay.Function((y,), match))[1:4] == ["  %0 = (%y, %y);", "  match? (%0) {", "    (%p, _) => {"]
    body = relay.Let(r, relay.RefCreate(y), relay.Let(p, relay.RefWrite(r, y), relay.RefRead(r)))
    assert lines(body) == ["free_var %y: float32;", "let %r = ref(%y);", "let %p = ref_write(%r, %y);", "ref_read(%r)"]
    assert lines(relay.TupleGetItem(relay.Tuple((y, y)), 1))[1:] == ["%0 = (%y, %y);", "%0.1"]
    assert lines(relay.Tuple((y,)))[-1] == "(%y,)"


def test_names_are_unique_and_can_be_read_back() -> None:
    names = ["x", "x", "0", "input.1", "a/b:c", "", "t", "t.0"]
    func = relay.Function(tuple(scalar(name) for name in names), relay.Tuple(()))
    found = re.findall(r"%([^:]*):", str(func))
    assert found == ["x", "x1", "v0", "input.1", "a/b_c", "v", "t", "t_0"]


def test_attributes_of_functions() -> None:
    y = scalar("y")
    attrs = DictAttrs({"Compiler": "x", "l": [1, 2], "d": {"a": True}, "s": 'a"b\n', "f": 1.5})
    func = relay.Function((y,), y, attrs=attrs)
    expected = r'fn (%y: float32, Compiler="x", l=[1, 2], d={"a"=True}, s="a\"b\n", f=1.5f) {'
    assert lines(func)[0] == expected


def test_large_constants_stand_in_the_metadata() -> None:
    c = relay.const(np.arange(3, dtype="float32"))
    other = relay.const(np.arange(4, dtype="int8").reshape(2, 2))
    mod = IRModule.from_expr(relay.Function((), relay.Tuple((c, other, c))))
    assert lines(mod)[1] == "  (meta[relay.Constant][0], meta[relay.Constant][1], meta[relay.Constant][0])"
    whole = mod.astext()
    # As TVM 0.19 packs these two arrays.
    assert '"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQADAAAAAAAAAAwAAAAAAAAAAAAAAAAAgD8AAABA"' in whole
    assert '"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAAIAQACAAAAAAAAAAIAAAAAAAAABAAAAAAAAAAAAQID"' in whole
    short = mod.astext(show_meta_data=False)
    assert "b64ndarrays" not in short
    assert "left out" in short


def test_every_line_knows_its_node() -> None:
    table = OriginTable()
    with recording(table):
        x = relay.var("x", shape=(2, 2))
        y = relu(x)
        z = relu(y)
    out = relay_text(IRModule.from_expr(relay.Function((x,), z)))
    assert out.positions[y] == (2, 3)
    assert out.positions[z] == (3, 3)
    assert out.lines[1].span == y.span
    assert out.lines[2].span == z.span
    assert all(line.regions for line in out.lines)


def test_time_grows_with_the_length_of_a_chain_and_depth_does_not_matter() -> None:
    def chain(length: int) -> Callable[[], object]:
        value: Any = scalar("x")
        for _ in range(length):
            value = relu(value)
        return lambda: lines(value)

    assert_linear(chain, 400)


def test_what_is_no_graph_is_refused() -> None:
    wrong: Any = 3
    with pytest.raises(ArgumentError, match="relay_text: expected a module, an expression or a type, got 3"):
        relay_text(wrong)


def test_names_of_layers_keep_their_slashes() -> None:
    x, w = relay.var("block/1/x"), relay.var("block/x:0")
    shown = (x / w).astext()
    assert lines(shown)[1:] == ["free_var %block/1/x;", "free_var %block/x_0;", "divide(%block/1/x, %block/x_0)"]
    assert relay.parse_expr(shown).args[0].name_hint == "block/1/x"
    quotient = relay.parse_expr("free_var %a; free_var %b; %a / %b")
    assert quotient.op.name == "divide"


def test_annotations_take_the_place_of_types() -> None:
    x = relay.var("x", shape=(2,))
    module = infer_module(IRModule.from_expr(relay.Function([x], relu(x))))
    text = module.astext(annotate=lambda e: f" /* {type(e).__name__} */")
    assert "%x: Tensor[(2), float32] /* Var */" in text
    assert "nn.relu(%x) /* Call */" in text
    assert "ty=" not in text
