"""Attributes of operators for a while: ``tvm.relay.testing.temp_op_attr``."""

from __future__ import annotations

from compiler.ir.op import Op


class TempOpAttr:
    """Sets an attribute of an operator within a ``with`` block.

    Examples
    --------
    ::

        with TempOpAttr("nn.relu", "FTVMLegalize", legalize_relu):
            mod = relay.transform.Legalize()(mod)
    """

    def __init__(self, op_name: str, attr_key: str, attr_value: object) -> None:
        self.op = Op.get(op_name)
        self.attr_key = attr_key
        self.attr_value = attr_value
        self._before: object = None

    def __enter__(self) -> TempOpAttr:
        before = self.op.get_attr(self.attr_key)
        self._before = None if before is self.op.own_attr(self.attr_key) else before
        self.op.reset_attr(self.attr_key)
        self.op.set_attr(self.attr_key, self.attr_value)
        return self

    def __exit__(self, *exc: object) -> None:
        self.op.reset_attr(self.attr_key)
        if self._before is not None:
            self.op.set_attr(self.attr_key, self._before)
