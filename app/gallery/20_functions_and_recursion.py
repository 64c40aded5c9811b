"""Functions and recursion

Functions are values that `let` can bind to names, and a function may call itself. This one computes a power by
recursion; a function bound by `let` then squares the result twice.
"""

import numpy as np
import tvm
from tvm import relay

mod = tvm.IRModule()
power = relay.GlobalVar("power")
base = relay.var("base", shape=(), dtype="float32")
times = relay.var("times", shape=(), dtype="int32")
one_less = relay.subtract(times, relay.const(1))
body = relay.If(
    relay.equal(times, relay.const(0)),
    relay.const(1.0),
    relay.multiply(base, power(base, one_less)),
)
mod[power] = relay.Function([base, times], body, relay.scalar_type("float32"))

x = relay.var("x", shape=(), dtype="float32")
square = relay.var("square")
v = relay.var("v", shape=(), dtype="float32")
twice = relay.Let(square, relay.Function([v], v * v), square(square(power(x, relay.const(3)))))
mod["main"] = relay.Function([x], twice)

mod = relay.transform.InferType()(mod)
print(mod)
value = relay.create_executor("vm", mod=mod, device=tvm.cpu(0), target="llvm").evaluate()(np.float32(1.1))
print("(1.1 ** 3) ** 4 =", value)
