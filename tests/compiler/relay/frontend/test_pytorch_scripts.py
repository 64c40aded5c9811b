"""Scripts with control flow, and what is wrong with models and inputs."""

import numpy as np
import pytest

from compiler import relay
from compiler.ir.error import ArgumentError
from compiler.relay.frontend.pytorch import ConversionError, UnsupportedOperatorError
from tests.compiler.relay.frontend.pytorch_models import compare, traced

torch = pytest.importorskip("torch")
nn = torch.nn


class Branch(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            y = x * 2
        else:
            y = x - 1
        return y


class Rows(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = []
        for i in range(x.size(0)):
            rows.append(x[i] * i)
        return torch.stack(rows)


class Doubling(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while bool(x.sum() < 100.0):
            x = x * 2
        return x


class Growing(nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        for i in range(int(n)):
            x = torch.cat([x, x[:1] * i])
        return x


class Extents(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = x.size(0)
        if n > 2 and n % 2 == 0 and n // 2 != 7:
            x = x * (n**2) + float(n) / 3 - (n << 1) - abs(-n) - min(n, 3)
        if n >= 40:
            raise ValueError(f"too many: {n}")
        return x.reshape(max(n // 2, 1), -1) - len("abc") + int(2.5 * n)


class Last(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0][-1]


class Named(nn.Module):
    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        shapes = [x.size(0), x.size(1)]
        copied = shapes.copy()
        copied[0] = 1
        copied.extend([2])
        found: dict[str, torch.Tensor] = {}
        found["rows"] = x.sum(0) * copied[0]
        found["scaled"] = x * copied[2] * shapes[0]
        for name, value in found.items():
            found[name] = value + len("its " + name)
            if name[0] == "r":
                found[name] = found[name] * 2
        return found


@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        (Extents(), [torch.ones(4, 3)]),
        (Named(), [torch.arange(6.0).reshape(3, 2)]),
        (Last(nn.GRU(3, 4, bidirectional=True)), [torch.ones(5, 2, 3)]),
        (nn.AdaptiveAvgPool2d((1, 1)), [torch.rand(1, 2, 5, 5)]),
        (Last(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)), [torch.rand(2, 3, 8)]),
        (Branch(), [torch.ones(3)]),
        (Branch(), [-torch.ones(3)]),
        (Rows(), [torch.arange(6.0).reshape(3, 2)]),
        (Doubling(), [torch.ones(3)]),
        (Growing(), [torch.ones(3, 2), torch.tensor(4)]),
    ],
)
def test_control_flow(model, inputs):
    compare(torch.jit.script(model.eval()), inputs)


def test_operators_of_a_branch_that_is_not_taken_need_no_converter():
    class Rare(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.linalg.svdvals(x) if x.dim() > 2 else x * 2

    script = torch.jit.script(Rare())
    compare(script, [torch.ones(2, 2)])
    with pytest.raises(
        UnsupportedOperatorError,
        match=r"aten::linalg_svdvals: 'aten::linalg_svdvals_0' at \S*test_pytorch_scripts\.py:\d+",
    ):
        relay.frontend.from_pytorch(script, [("x", (2, 2, 2))])


def test_numbers_that_pytorch_refuses_are_named():
    class Divided(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * (7 // (x.size(0) - 2))

    with pytest.raises(ConversionError, match=r"aten::floordiv_0.*PyTorch cannot compute it for 7, 0: "):
        relay.frontend.from_pytorch(torch.jit.script(Divided()), [("x", (2,))])


def test_a_list_that_changes_in_an_undecided_branch_is_refused():
    class Swapped(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            rows = [x, x + 1]
            if bool(x.sum() > 0):
                rows[0] = x * 2
            return rows[0] + rows[1]

    with pytest.raises(ConversionError, match="a list or dict changes inside a branch"):
        relay.frontend.from_pytorch(torch.jit.script(Swapped()), [("x", (2,))])


def test_exported_programs_compute_with_extents():
    class Rows(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            n = x.shape[0]
            return (x.float().view(n * 2, -1) * (n // 2 - 1))[: n + 1] % (n + 0.5)

    rows = torch.export.Dim("rows", min=2, max=64)
    program = torch.export.export(Rows(), (torch.rand(6, 4),), dynamic_shapes={"x": {0: rows}})
    compare(program, [torch.rand(4, 4)])


def test_unknown_operators_are_named_together():
    script = traced(lambda x: torch.linalg.svdvals(x) + torch.linalg.eigvalsh(x), [torch.eye(3)])
    with pytest.raises(UnsupportedOperatorError, match=r"aten::linalg_eigvalsh.*aten::linalg_svdvals") as caught:
        relay.frontend.from_pytorch(script, [("x", (3, 3))])
    assert "test_pytorch_scripts.py:" in str(caught.value)


@pytest.mark.parametrize(
    ("infos", "message"),
    [
        ([], r"the model has 1 inputs \(x\), input_infos gives 0"),
        ([("x", "abc")], "shape of input 'x' must be a tuple of ints"),
        ([("x", ((2,), "quaternion"))], "input 'x': data type 'quaternion' is not supported"),
        ([("x",)], r"each of input_infos must be \(name, shape\)"),
        ("x", r"input_infos must be a list"),
    ],
)
def test_wrong_input_infos_are_named(infos, message):
    with pytest.raises(ArgumentError, match=message):
        relay.frontend.from_pytorch(torch.jit.script(Doubling()), infos)


def test_a_node_that_does_not_fit_is_named():
    script = traced(lambda x: x.view(4, 4), [torch.ones(16)])
    with pytest.raises(ConversionError, match=r"aten::view_0.*test_pytorch_scripts\.py:\d+"):
        relay.frontend.from_pytorch(script, [("x", (3, 3))])


def test_custom_converters_come_first():
    script = traced(torch.relu, [torch.ones(3)])
    custom = {"aten::relu": lambda inputs, types: relay.tanh(inputs[0])}
    mod, _ = relay.frontend.from_pytorch(script, [("x", (3,))], custom)
    assert "tanh(%x)" in str(mod)


class Batch(nn.Module):
    def forward(self, batch: dict[str, torch.Tensor], scale: torch.Tensor) -> torch.Tensor:
        return batch["values"] * scale + batch["offset"]


@pytest.fixture(scope="module")
def batch():
    inputs = {"offset": torch.tensor([1, 2]), "values": torch.tensor([[0.5, -2.0]])}, torch.tensor([3.0, 4.0])
    return Batch(), inputs, torch.jit.trace(Batch(), inputs, strict=False)


def test_dicts_of_tensors_are_inputs_by_their_keys(batch):
    model, (given, scale), script = batch
    described = {"values": (1, 2), "offset": ((2,), "int64")}
    for program in (script, torch.jit.script(model)):
        mod, _ = relay.frontend.from_pytorch(program, [("batch", described), ("scale", (2,))])
        assert [p.name_hint for p in mod["main"].params] == ["batch_values", "batch_offset", "scale"]
        run = relay.create_executor("debug", mod=mod).evaluate()
        result = run(given["values"].numpy(), given["offset"].numpy(), scale.numpy())
        np.testing.assert_array_equal(result.numpy(), model(given, scale).numpy())


@pytest.mark.parametrize(
    ("infos", "message"),
    [
        ([("b", [(1, 2), (2,)]), ("s", (2,))], "input 'batch' of the model is a dict: give the shapes"),
        ([("b", {"x": (1, 2)}), ("s", (2,))], "a dict has no 'values': its keys are 'x'"),
        ([("b", {"values": (1, 2)}), ("s", {"x": (2,)})], "gives a dict for input 'scale', which is Tensor"),
        ([("s", {"x": (1, 2)}), ("s_x", (2,))], "input_infos names 's_x' twice"),
        (None, "does not specify the shapes of its input 'batch', a dict"),
    ],
)
def test_dicts_that_are_described_otherwise_are_refused(batch, infos, message):
    with pytest.raises((ArgumentError, ConversionError), match=message):
        relay.frontend.from_pytorch(torch.jit.script(batch[0]), infos)


def test_exported_programs_have_the_tensors_of_a_dict_as_inputs(batch):
    model, inputs, _ = batch
    program = torch.export.export(model, inputs)
    with pytest.raises(ArgumentError, match=r"a dict are separate inputs: batch_offset, batch_values"):
        relay.frontend.from_pytorch(program, [("batch", {"offset": (2,)}), ("x", (2,)), ("y", (2,))])
    assert [p.name_hint for p in relay.frontend.from_pytorch(program)[0]["main"].params][-1] == "scale"
