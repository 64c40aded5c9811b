"""The operator that raises an error in place of a value."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.ir.error import TVMError

MESSAGE = 'no "such" branch: 100 % {}'


@pytest.mark.parametrize("executor", ["debug", "vm"])
def test_a_branch_fails_with_its_message_only_where_it_is_taken(executor):
    x, condition = relay.var("x", shape=(3,)), relay.var("condition", shape=(), dtype="bool")
    branch = relay.If(condition, x, relay.fail(message=MESSAGE, shape=(3,), dtype="float32"))
    mod = tvm.IRModule.from_expr(relay.Function([x, condition], branch))
    assert tvm.ir.structural_equal(relay.fromtext(mod.astext()), relay.transform.InferType()(mod))
    run = relay.create_executor(executor, mod=mod).evaluate()
    ones = np.ones(3, "float32")
    np.testing.assert_array_equal(run(ones, np.array(True)).numpy(), ones)
    with pytest.raises(TVMError) as raised:
        run(ones, np.array(False))
    assert MESSAGE in str(raised.value)
