"""``T.Let`` binds the variable that a program has declared."""

from compiler.tir.script import tir as T


def test_let_binds_a_declared_variable_and_so_the_buffers_over_it():
    @T.prim_func
    def copied(a: T.handle, b: T.handle):
        A, B = T.match_buffer(a, (8,), "uint8"), T.match_buffer(b, (8,), "uint8")
        read = T.handle("uint8")
        elements = T.Buffer((8,), "uint8", data=read)
        B[0] = T.Let(elements[3], where={read: A.data})

    let = copied.body.value
    assert let.body.buffer.data is let.var
    assert let.var.type_annotation is not None


def test_let_defines_a_name_that_is_new():
    @T.prim_func
    def squared(b: T.Buffer((1,), "int32")):
        b[0] = T.Let(t * t, where={t: b[0] + 1})  # noqa: F821  the parser defines it

    let = squared.body.value
    assert let.body.a is let.var
