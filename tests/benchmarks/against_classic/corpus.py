"""Programs of tensor expressions with their schedules, for this compiler and for classic TVM alike.

A process that has another TVM imports this file by its path, so it imports nothing of the project.  A program is a
function of the package ``tvm`` that returns a schedule and its arguments, the inputs first and one output last.
"""

PROGRAMS = {}


def program(name, function, *args):
    """Add a program: ``function(tvm, *args)``."""
    PROGRAMS[name] = lambda tvm: function(tvm, *args)


def matmul(tvm, m, n, depth, tile, dtype="float32", unroll=False):
    """A product in blocks, its sum in a tile of its own where ``tile`` says so."""
    te = tvm.te
    a = te.placeholder((m, depth), dtype, name="A")
    b = te.placeholder((depth, n), dtype, name="B")
    k = te.reduce_axis((0, depth), "k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    if tile:
        rows, columns = tile
        cached = s.cache_write(c, "global")
        _, jo, _, _ = s[c].tile(*c.op.axis, rows, columns)
        s[cached].compute_at(s[c], jo)
        ci, cj = s[cached].op.axis
        ko, ki = s[cached].split(s[cached].op.reduce_axis[0], 4)
        s[cached].reorder(ko, ki, ci, cj)
        s[cached].vectorize(cj)
        if unroll:
            s[cached].unroll(ki)
            s[cached].unroll(ci)
        s[c].vectorize(s[c].leaf_iter_vars[-1])
    return s, [a, b, c]


def matmul_blocked(tvm, m, n, depth, rows, columns):
    """A product in blocks without a cache: initialised and summed in place."""
    te = tvm.te
    a = te.placeholder((m, depth), name="A")
    b = te.placeholder((depth, n), name="B")
    k = te.reduce_axis((0, depth), "k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    io, jo, ii, ji = s[c].tile(*c.op.axis, rows, columns)
    ko, ki = s[c].split(k, 4)
    s[c].reorder(io, jo, ko, ki, ii, ji)
    s[c].vectorize(ji)
    return s, [a, b, c]


def depthwise(tvm, channels, size, vector):
    """A depthwise 3 x 3 convolution, its columns in vectors, its window unrolled."""
    te = tvm.te
    x = te.placeholder((channels, size + 2, size + 2), name="X")
    w = te.placeholder((channels, 3, 3), name="W")
    u, v = te.reduce_axis((0, 3), "u"), te.reduce_axis((0, 3), "v")
    y = te.compute(
        (channels, size, size), lambda c, i, j: te.sum(x[c, i + u, j + v] * w[c, u, v], axis=[u, v]), name="Y"
    )
    s = te.create_schedule(y.op)
    if vector:
        c, i, j = y.op.axis
        jo, ji = s[y].split(j, vector)
        s[y].reorder(c, i, jo, u, v, ji)
        s[y].vectorize(ji)
        s[y].unroll(u)
        s[y].unroll(v)
    return s, [x, w, y]


def elementwise(tvm, extent, factor, function, dtype="float32"):
    """One function of each element, in vectors of ``factor``, 0 for the default schedule."""
    te = tvm.te
    a = te.placeholder((extent,), dtype, name="A")
    b = te.compute((extent,), lambda i: function(tvm, a[i]), name="B")
    s = te.create_schedule(b.op)
    if factor:
        _, inner = s[b].split(b.op.axis[0], factor)
        s[b].vectorize(inner)
    return s, [a, b]


def rows_and_columns(tvm, m, n, factor, unroll):
    """Two factors of a sum by rows and columns, with a guard in the inner loop."""
    te = tvm.te
    a = te.placeholder((m, n), name="A")
    r = te.placeholder((m,), name="R")
    b = te.compute((m, n), lambda i, j: a[i, j] * r[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    jo, ji = s[b].split(b.op.axis[1], factor)
    s[b].vectorize(ji)
    if unroll:
        s[b].unroll(jo)
    return s, [a, r, b]


def serial_tail(tvm, m, n, factor):
    """A split whose inner loop is serial and has a guard."""
    te = tvm.te
    a = te.placeholder((m, n), name="A")
    b = te.compute((m, n), lambda i, j: a[i, j] * 2.0 + 1.0, name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[1], factor)
    return s, [a, b]


def row_sums(tvm, m, n, factor):
    """Sums of rows, over a loop split by ``factor``, with partial sums in vectors."""
    te = tvm.te
    a = te.placeholder((m, n), name="A")
    k = te.reduce_axis((0, n), "k")
    b = te.compute((m,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    _, ki = s[b].split(k, factor)
    partial = s.rfactor(b, ki)
    s[partial].compute_at(s[b], s[b].op.axis[0])
    s[partial].reorder(s[partial].op.reduce_axis[0], s[partial].op.axis[0])
    s[partial].vectorize(s[partial].op.axis[0])
    return s, [a, b]


def blur(tvm, size, sliding):
    """Means of three rows of means of three columns."""
    te = tvm.te
    a = te.placeholder((size + 2, size + 2), name="A")
    h = te.compute((size + 2, size), lambda i, j: (a[i, j] + a[i, j + 1] + a[i, j + 2]) / 3.0, name="H")
    v = te.compute((size, size), lambda i, j: (h[i, j] + h[i + 1, j] + h[i + 2, j]) / 3.0, name="V")
    s = te.create_schedule(v.op)
    if sliding:
        s[h].compute_at(s[v], v.op.axis[0])
        s[v].vectorize(s[v].split(v.op.axis[1], 16)[1])
    else:
        _, jo, _, ji = s[v].tile(*v.op.axis, 32, 64)
        s[h].compute_at(s[v], jo)
        s[v].vectorize(ji)
    s[h].vectorize(s[h].split(h.op.axis[1], 16)[1])
    return s, [a, v]


def average_pool(tvm, channels, size):
    """3 x 3 means over the elements that are there, the columns in vectors by the code generator."""
    te, tir = tvm.te, tvm.tir
    a = te.placeholder((channels, size, size), name="A")
    u, v = te.reduce_axis((0, 3), "u"), te.reduce_axis((0, 3), "v")
    padded = te.compute(
        (channels, size + 2, size + 2),
        lambda c, i, j: tir.if_then_else(
            tir.all(i >= 1, i <= size, j >= 1, j <= size), a[c, i - 1, j - 1], tir.const(0.0, "float32")
        ),
        name="P",
    )
    total = te.compute((channels, size, size), lambda c, i, j: te.sum(padded[c, i + u, j + v], axis=[u, v]), name="S")

    def count(i):
        return te.min(i + 2, size) - te.max(i - 1, 0)

    b = te.compute(
        (channels, size, size),
        lambda c, i, j: total[c, i, j] / te.max((count(i) * count(j)).astype("float32"), 1.0),
        name="B",
    )
    return te.create_schedule(b.op), [a, b]


def pad_reflect(tvm, size):
    """Two rows and columns on each side, reflected."""
    te, tir = tvm.te, tvm.tir
    a = te.placeholder((size, size), name="A")

    def reflected(i):
        return tir.if_then_else(i < 2, 2 - i, tir.if_then_else(i >= size + 2, 2 * size - i, i - 2))

    b = te.compute((size + 4, size + 4), lambda i, j: a[reflected(i), reflected(j)], name="B")
    return te.create_schedule(b.op), [a, b]


def im2col(tvm, channels, size):
    """The windows of a 3 x 3 convolution as rows of a matrix."""
    te, tir = tvm.te, tvm.tir
    a = te.placeholder((channels, size + 2, size + 2), name="A")
    b = te.compute(
        (size * size, channels * 9),
        lambda p, q: a[
            tir.floordiv(q, 9),
            tir.floordiv(p, size) + tir.floordiv(tir.floormod(q, 9), 3),
            tir.floormod(p, size) + tir.floormod(q, 3),
        ],
        name="B",
    )
    return te.create_schedule(b.op), [a, b]


def products_of_rows(tvm, batch, m, n, depth):
    """Batched products of rows with rows."""
    te = tvm.te
    a = te.placeholder((batch, m, depth), name="A")
    b = te.placeholder((batch, n, depth), name="B")
    k = te.reduce_axis((0, depth), "k")
    c = te.compute((batch, m, n), lambda x, i, j: te.sum(a[x, i, k] * b[x, j, k], axis=k), name="C")
    return te.create_schedule(c.op), [a, b, c]


def blocks(tvm, m, n, rows, columns, kinds):
    """A function of each element in blocks of rows and columns: the kinds of the two inner loops vary."""
    te = tvm.te
    a = te.placeholder((m, n), name="A")
    b = te.compute((m, n), lambda i, j: a[i, j] * a[i, j] + 2.0, name="B")
    s = te.create_schedule(b.op)
    _, _, ii, ji = s[b].tile(*b.op.axis, rows, columns)
    for axis, kind in ((ii, kinds[0]), (ji, kinds[1])):
        if kind:
            getattr(s[b], kind)(axis)
    return s, [a, b]


def convolution(tvm, channels, out, size, width, unroll=True):
    """A 3 x 3 convolution of channels last: output channels in vectors, ``width`` columns in registers."""
    te = tvm.te
    x = te.placeholder((size + 2, size + 2, channels), name="X")
    w = te.placeholder((3, 3, channels, out), name="W")
    u, v, k = te.reduce_axis((0, 3), "u"), te.reduce_axis((0, 3), "v"), te.reduce_axis((0, channels), "k")
    y = te.compute(
        (size, size, out), lambda i, j, c: te.sum(x[i + u, j + v, k] * w[u, v, k, c], axis=[u, v, k]), name="Y"
    )
    s = te.create_schedule(y.op)
    cached = s.cache_write(y, "global")
    i, j, c = y.op.axis
    jo, ji = s[y].split(j, width)
    co, ci = s[y].split(c, 16)
    s[y].reorder(i, co, jo, ji, ci)
    s[y].vectorize(ci)
    s[cached].compute_at(s[y], jo)
    _, cj, cc = s[cached].op.axis
    ru, rv, rk = s[cached].op.reduce_axis
    s[cached].reorder(ru, rv, rk, cj, cc)
    s[cached].vectorize(cc)
    if unroll:
        s[cached].unroll(cj)
    return s, [x, w, y]


def softmax(tvm, m, n):
    """Softmax of rows, by the default schedule."""
    te = tvm.te
    x = te.placeholder((m, n), name="X")
    y = tvm.topi.nn.softmax(x)
    return te.create_schedule(y.op), [x, y]


for _size in (50, 56, 64):
    program(f"depthwise 3x3 vec unroll {_size}", depthwise, 32, _size, 16)
    program(f"depthwise 3x3 default {_size}", depthwise, 32, _size, 0)
    program(f"depthwise 3x3 vec 8 {_size}", depthwise, 32, _size, 8)
for _m, _n, _k in ((250, 270, 290), (256, 288, 288), (77, 77, 300), (80, 80, 300), (127, 131, 137)):
    program(f"mm {_m}x{_n}x{_k} default", matmul, _m, _n, _k, None)
    program(f"mm {_m}x{_n}x{_k} blocked 32x32", matmul_blocked, _m, _n, _k, 32, 32)
    program(f"mm {_m}x{_n}x{_k} cached 8x32", matmul, _m, _n, _k, (8, 32), "float32", True)
    program(f"mm {_m}x{_n}x{_k} cached 16x16 rolled", matmul, _m, _n, _k, (16, 16))
program("mm 256x256x256 float64 cached", matmul, 256, 256, 256, (8, 16), "float64", True)
program("mm 256x256x256 float16", matmul, 256, 256, 256, None, "float16")
for _n in (100_000, 100_003):
    program(f"add {_n} split 16", elementwise, _n, 16, lambda tvm, x: x + 1.0)
    program(f"add {_n} split 64", elementwise, _n, 64, lambda tvm, x: x + 1.0)
    program(f"add {_n} default", elementwise, _n, 0, lambda tvm, x: x + 1.0)
for _name, _function in {
    "third": lambda tvm, x: x / 3.0,
    "eighth": lambda tvm, x: x / 8.0,
    "sin": lambda tvm, x: tvm.te.sin(x),
    "cos": lambda tvm, x: tvm.te.cos(x),
    "exp": lambda tvm, x: tvm.te.exp(x),
    "log": lambda tvm, x: tvm.te.log(tvm.te.abs(x)),
    "tanh": lambda tvm, x: tvm.te.tanh(x),
    "sqrt": lambda tvm, x: tvm.te.sqrt(tvm.te.abs(x)),
    "power 3": lambda tvm, x: tvm.te.power(x, tvm.tir.const(3.0, "float32")),
    "power 2.5": lambda tvm, x: tvm.te.power(tvm.te.abs(x), tvm.tir.const(2.5, "float32")),
    "gelu": lambda tvm, x: x * 0.5 * (1.0 + tvm.te.tanh(0.7978845608 * (x + 0.044715 * x * x * x))),
    "polynomial": lambda tvm, x: ((x * 0.5 + 1.5) * x + 2.5) * x + 3.5,
}.items():
    program(f"{_name} default", elementwise, 16384, 0, _function)
    program(f"{_name} vec", elementwise, 16384, 16, _function)
for _n in (96, 100, 112):
    program(f"scale rows 300x{_n} split 32", rows_and_columns, 300, _n, 32, False)
    program(f"scale rows 300x{_n} split 32 unrolled", rows_and_columns, 300, _n, 32, True)
    program(f"serial tail 300x{_n} split 48", serial_tail, 300, _n, 48)
    program(f"row sums 300x{_n} by 16", row_sums, 300, _n, 16)
    for _kinds in (("", ""), ("", "vectorize"), ("unroll", "vectorize"), ("unroll", "")):
        program(f"blocks 130x{_n} 8x32 {_kinds[0] or 'serial'} {_kinds[1] or 'serial'}", blocks, 130, _n, 8, 32, _kinds)
for _size in (56, 100, 128):
    program(f"blur {_size} sliding", blur, _size, True)
    program(f"blur {_size} tiled", blur, _size, False)
    program(f"average pool {_size}", average_pool, 16, _size)
    program(f"pad reflect {_size}", pad_reflect, 4 * _size)
program("im2col 16x56", im2col, 16, 56)
program("im2col 3x50", im2col, 3, 50)
for _k in (48, 64, 96, 128):
    program(f"batched mm NT depth {_k}", products_of_rows, 8, 64, 64, _k)
program("conv 3x3 NHWC 14x14 8 columns", convolution, 32, 64, 14, 8)
program("conv 3x3 NHWC 16x16 8 columns", convolution, 32, 64, 16, 8)
program("conv 3x3 NHWC 14x14 7 columns", convolution, 32, 64, 14, 7)
program("conv 3x3 NHWC 13x13 7 columns rolled", convolution, 32, 48, 13, 7, False)
program("softmax 64x1000", softmax, 64, 1000)
program("blocks 128x96 8x32 serial serial", blocks, 128, 96, 8, 32, ("", ""))
for _k in (32, 64, 128):
    program(f"mm 64x64x{_k} default", matmul, 64, 64, _k, None)
program("mm 64x64x64 float16 default", matmul, 64, 64, 64, None, "float16")
program("mm 64x64x64 float64 default", matmul, 64, 64, 64, None, "float64")
