"""Replacement of large weights by random ones from a seed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from app.recorder.measuring.random_inputs import Array
from app.webgpu import Range
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.relay.expr import Constant, Var
from compiler.relay.function import Function
from compiler.relay.transform.rewriter import GraphMutator

LEAST_ELEMENTS = 4096
"""Of weights that the seed makes; smaller ones, such as biases and factors, stay what they are."""
NAME = "seeded_weight_{}"


class SeededWeights(GraphMutator):
    """Puts inputs in place of large weights.

    Attributes
    ----------
    ranges : dict of str to tuple of float
        Of the numbers that the seed makes, by the name of the input.
    bytes : int
        Of the weights.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ranges: dict[str, Range] = {}
        self.bytes = 0
        self._inputs: dict[int, Var] = {}

    def module(self, module: IRModule) -> IRModule:
        """Return a model with the inputs behind those that it has.

        Parameters
        ----------
        module : IRModule
            Its function ``main`` is a graph.
        """
        gvar = module.get_global_var("main")
        func: Function = module[gvar]
        body = self.rewrite(func.body)
        made = rebuild(func, params=(*func.params, *self._inputs.values()), body=body)
        return module.with_functions({**module.functions, gvar: made})

    def visit_constant(self, const: Constant) -> Any:
        values = const.value
        if values.dtype != np.float32 or values.size < LEAST_ELEMENTS:
            return const
        if id(const.data) not in self._inputs:
            name = NAME.format(len(self._inputs))
            self._inputs[id(const.data)] = Var(name, const.tensor_type)
            self.ranges[name] = _range(values)
            self.bytes += values.nbytes
        return self._inputs[id(const.data)]


def _range(values: Array) -> Range:
    """Return a range inside that of the values, whose random numbers have their mean, and their spread or less."""
    mean, reach = float(values.mean(dtype="float64")), math.sqrt(3) * float(values.std(dtype="float64"))
    low, high = max(float(values.min()), mean - reach), min(float(values.max()), mean + reach)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else (-0.1, 0.1)
