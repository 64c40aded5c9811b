"""Relay as a language: data types, match, let, references and recursion in its text, interpreted and on the machine."""

import numpy as np
import tvm
from tvm import relay

TEXT = """
#[version = "0.0.5"]
type Tree[A] {
  Leaf,
  Node(Tree[A], A, Tree[A]),
}

def @insert(%tree: Tree[float32], %new: float32) -> Tree[float32] {
  match (%tree) {
    Leaf => Node(Leaf, %new, Leaf),
    Node(%left, %value, %right) => if (less(%new, %value)) {
      Node(@insert(%left, %new), %value, %right)
    } else {
      Node(%left, %value, @insert(%right, %new))
    },
  }
}

def @sum(%tree: Tree[float32]) -> float32 {
  match (%tree) {
    Leaf => 0f,
    Node(%left, %value, %right) => @sum(%left) + %value + @sum(%right),
  }
}

def @least(%tree: Tree[float32], %otherwise: float32) -> float32 {
  match? (%tree) {
    Node(%left, %value, _) => @least(%left, %value),
    _ => %otherwise,
  }
}

def @counted(%times: int32, %f: fn (float32) -> float32, %x: float32) -> float32 {
  if (equal(%times, 0)) { %x } else { @counted(%times - 1, %f, %f(%x)) }
}

def @main(%x: Tensor[(3), float32]) -> (float32, float32, float32, Tensor[(3), float32]) {
  let %a = take(%x, 0, mode="clip");
  let %b = take(%x, 1, mode="clip");
  let %tree = @insert(@insert(@insert(Leaf, %a), %b), 0.5f);
  let %cell = ref(%x);
  let %_ = ref_write(%cell, ref_read(%cell) * 2f);
  let %add = fn (%v: float32) -> float32 { %v + %a };
  (@sum(%tree), @least(%tree, 9f), @counted(3, %add, 1f), ref_read(%cell))
}
"""
mod = relay.transform.InferType()(relay.fromtext(TEXT))
print(mod)
tree = mod.get_global_type_var("Tree")
print("constructors of", tree.name_hint, [c.name_hint for c in mod.type_definitions[tree].constructors])
print("functions:", sorted(var.name_hint for var in mod.get_global_vars()))
x = np.array([2.0, 0.25, 1.0], "float32")
interpreted = relay.create_executor("debug", mod=mod).evaluate()(x)
print("interpreted:", [value.numpy().tolist() for value in interpreted])
assert tvm.ir.structural_equal(mod, relay.transform.InferType()(relay.fromtext(mod.astext())))

NUMBERS = """
#[version = "0.0.5"]
def @power(%base: float32, %times: int32) -> float32 {
  if (equal(%times, 0)) { 1f } else { %base * @power(%base, %times - 1) }
}
def @main(%x: float32, %rows: Tensor[(?, 4), float32]) {
  let %f = fn (%n: int32) -> float32 { @power(%x, %n) };
  (%f(3), concatenate((%rows, %rows), axis=0), sum(%rows, axis=[0]), shape_of(%rows))
}
"""
mod = relay.transform.InferType()(relay.fromtext(NUMBERS))
with tvm.transform.PassContext(opt_level=3):
    executable = relay.vm.compile(mod, target="llvm")
print(executable.bytecode)
code, lib = executable.save()
loaded = tvm.runtime.vm.Executable.load_exec(code, lib)
machine = tvm.runtime.vm.VirtualMachine(loaded, tvm.cpu())
for rows in (1, 3):
    values = np.arange(rows * 4, dtype="float32").reshape(rows, 4)
    power, twice, total, shape = machine.invoke("main", np.float32(1.5), values)
    print(power.numpy(), twice.shape, total.numpy().tolist(), shape.numpy())


class Counter(relay.ExprVisitor):
    """Counts nodes of each kind."""

    def __init__(self):
        super().__init__()
        self.kinds = {}

    def visit(self, expr):
        kind = type(expr).__name__
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        super().visit(expr)


class Halved(relay.ExprMutator):
    """Halves each floating-point constant."""

    def visit_constant(self, constant):
        value = constant.data.numpy()
        return relay.const(value / 2) if value.dtype.kind == "f" else constant


counter = Counter()
counter.visit(mod["power"])
print(dict(sorted(counter.kinds.items())))
print(Halved().visit(mod["power"]))
print(
    "free:",
    [v.name_hint for v in relay.analysis.free_vars(mod["power"].body)],
    "all:",
    len(relay.analysis.all_vars(mod["main"])),
)
print("pure shape types:", [str(v.checked_type) for v in mod["main"].params], relay.analysis.well_formed(mod["main"]))
print("operators:", relay.analysis.list_op_freqs(mod))
