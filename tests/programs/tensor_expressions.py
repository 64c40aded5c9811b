"""Tensor expressions beyond compute: scans, library calls, intrinsics, several outputs, staged reads."""

import numpy as np
import tvm
from tvm import te, tir, topi

random = np.random.default_rng(0)


def check(name, s, args, inputs, expected):
    """Print the loops, and whether the machine code computes what is expected."""
    print(f"-- {name}")
    print(tvm.lower(s, args, simple_mode=True))
    outs = [tvm.nd.array(np.zeros(e.shape, e.dtype)) for e in expected]
    tvm.build(s, args, "llvm")(*map(tvm.nd.array, inputs), *outs)
    print("as NumPy:", all(np.allclose(out.numpy(), e, rtol=1e-5) for out, e in zip(outs, expected, strict=True)))


values = random.random((6, 8), "float32")
X = te.placeholder((6, 8), name="X")
state = te.placeholder((6, 8), name="state")
first = te.compute((1, 8), lambda _, i: X[0, i], name="first")
update = te.compute((6, 8), lambda t, i: state[t - 1, i] + X[t, i], name="update")
running = te.scan(first, update, state, inputs=[X], name="running")
s = te.create_schedule(running.op)
s[update].vectorize(s[update].split(update.op.axis[1], 4)[1])
check("a scan over rows", s, [X, running], [values], [values.cumsum(0)])


def from_library(ins, outs):
    """A call of what is registered below."""
    return tir.call_packed("golden.column_sums", ins[0], outs[0])


total = te.extern((8,), [X], from_library, name="total", dtype="float32")


@tvm.register_func("golden.column_sums", override=True)
def column_sums(x, out):
    """Called by the machine code, with arrays."""
    tvm.nd.array(x.numpy().sum(0)).copyto(out)


check("a function of Python", te.create_schedule(total.op), [X, total], [values], [values.sum(0)])


def by_hand(ins, outs):
    """Loops of one's own, in the builder of loops."""
    ib = tir.ir_builder.create()
    x, out = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    last = ib.allocate("float32", (1,), name="last", scope="local")
    with ib.for_range(0, 6, name="i") as i:
        last[0] = tir.const(0, "float32")
        with ib.for_range(0, 8, name="j", kind="serial") as j:
            with ib.if_scope(x[i * 8 + j] > 0.5):
                last[0] = x[i * 8 + j]
            with ib.else_scope():
                last[0] = last[0] * 0.5
        out[i] = last[0]
    return ib.get()


H = te.extern((6,), [X], by_hand, name="H", dtype="float32")
expected = np.zeros(6, "float32")
for i, row in enumerate(values):
    for value in row:
        expected[i] = value if value > 0.5 else expected[i] * np.float32(0.5)
check("loops by hand", te.create_schedule(H.op), [X, H], [values], [expected])

A, B = te.placeholder((8, 8), name="A"), te.placeholder((8, 8), name="B")
k = te.reduce_axis((0, 8), name="k")
C = te.compute((8, 8), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")


def dot(width):
    """An intrinsic: a dot product, which here is written with a vector."""
    a, b = te.placeholder((width,), name="a"), te.placeholder((width,), name="b")
    r = te.reduce_axis((0, width), name="r")
    c = te.compute((1,), lambda _: te.sum(a[r] * b[r], axis=r), name="c")
    buffers = {t: tir.decl_buffer(t.shape, name=t.name, offset_factor=1, strides=[1]) for t in (a, b, c)}

    def body(ins, outs):
        def part(update):
            product = ins[0].vload(0, f"float32x{width}") * ins[1].vload(0, f"float32x{width}")
            value = sum((tir.Shuffle([product], [lane]) for lane in range(1, width)), tir.Shuffle([product], [0]))
            return outs[0].vstore(0, outs[0].vload(0) + value if update else value)

        return part(False), outs[0].vstore(0, tir.const(0, "float32")), part(True)

    return te.decl_tensor_intrin(c.op, body, binds=buffers)


s = te.create_schedule(C.op)
ko, ki = s[C].split(C.op.reduce_axis[0], 4)
s[C].tensorize(ki, dot(4))
a, b = random.random((8, 8), "float32"), random.random((8, 8), "float32")
check("tensorized", s, [A, B, C], [a, b], [a @ b.T])

M, D = te.compute((8, 8), lambda i, j: (A[i, j] + 1.0, A[i, j] * 2.0), name="MD")
s = te.create_schedule(M.op)
s[M].tile(*M.op.axis, 4, 4)
check("two outputs", s, [A, M, D], [a], [a + 1, a * 2])

S = te.compute((8, 8), lambda i, j: A[i, j] * A[i, j], name="S")
T = te.compute((8, 8), lambda i, j: S[i, j] + S[j, i], name="T")
s = te.create_schedule(T.op)
near = s.cache_read(A, "global", [S])
local = s.cache_write(T, "local")
s[S].compute_root()
s[S].set_scope("global")
s[S].storage_align(S.op.axis[0], 16, 4)
s[near].compute_at(s[S], S.op.axis[0])
s[near].double_buffer()
s[local].compute_at(s[T], T.op.axis[0])
s[T].pragma(T.op.axis[0], "auto_unroll_max_step", 4)
fused = s[T].fuse(*T.op.axis[1:])
s[T].unroll(fused)
check("staged", s, [A, T], [a], [a * a + (a * a).T])

groups = te.create_schedule(T.op)
group = groups.create_group(outputs=S, inputs=A, include_inputs=False)
group.compute_at(groups[T], T.op.axis[0])
check("a group", groups, [A, T], [a], [a * a + (a * a).T])

sums, largest = topi.sum(A, axis=1), topi.max(A, axis=0)
s = te.create_schedule([sums.op, largest.op])
parts = s.rfactor(sums, s[sums].split(s[sums].op.reduce_axis[0], 4)[1])
s[parts].compute_at(s[sums], s[sums].op.axis[0])
check("two sums", s, [A, sums, largest], [a], [a.sum(1), a.max(0)])
