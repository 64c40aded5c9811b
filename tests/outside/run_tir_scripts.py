"""Runs scripts of loop IR expressions: for a process that has another TVM, which knows nothing of this project.

Reads a list of scripts as JSON, and prints one line of JSON for each: what machine code computes for the expression and
for its simplified forms at all points of the domain, and what the analyzer knows about it; or an error.
"""

import itertools
import json
import sys

import numpy as np

FORMS = ("plain", "rewritten", "canonical", "simplified")


def analyzed(script, tvm, tir):
    """Return a script's variables, domain, forms of its expression, and what is known about its values."""
    variables = {name: tir.Var(name, "int32") for name in "xyz"}
    names = {"tir": tir, **variables}
    exec(script, names)
    analyzer = tvm.arith.Analyzer()
    for name, (first, count) in names["domain"].items():
        analyzer.bind(variables[name], tvm.ir.Range.from_min_extent(first, count))
    value = tvm.runtime.convert(names["value"])
    forms = [value, analyzer.rewrite_simplify(value), analyzer.canonical_simplify(value), analyzer.simplify(value)]
    bound, modular = analyzer.const_int_bound(value), analyzer.modular_set(value)
    facts = {"bound": [int(bound.min_value), int(bound.max_value)], "modular": [int(modular.coeff), int(modular.base)]}
    return variables, names["domain"], forms, facts


def computed(variables, domain, forms, tvm, te, target):
    """Return what machine code computes for expressions at all points of a domain."""
    points = np.array(list(itertools.product(*[range(a, a + n) for a, n in domain.values()])), "int32").T
    inputs = {name: te.placeholder((points.shape[1],), "int32", name) for name in variables}

    def at(form):
        def element(i):
            there = {var: inputs[name][i] for name, var in variables.items()}
            return tvm.tir.stmt_functor.substitute(form, there) + inputs["x"][i] * 0

        return te.compute((points.shape[1],), element)

    outputs = [at(form) for form in forms]
    function = tvm.build(te.create_schedule([o.op for o in outputs]), [*inputs.values(), *outputs], target)
    results = [tvm.nd.array(np.full(points.shape[1], 99, "int32")) for _ in outputs]
    function(*[tvm.nd.array(np.ascontiguousarray(row)) for row in points], *results)
    return [r.numpy().tolist() for r in results]


def run(script, tvm, te, tir, target="llvm"):
    """Return what a script gives: a dictionary of values and facts, or ``{"error": …}``."""
    try:
        variables, domain, forms, facts = analyzed(script, tvm, tir)
        return {**dict(zip(FORMS, computed(variables, domain, forms, tvm, te, target), strict=True)), **facts}
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return {"error": f"{type(error).__name__}: {lines[-1] if lines else ''}"}


if __name__ == "__main__":
    import tvm
    from tvm import te, tir

    for script in json.load(sys.stdin):
        print(json.dumps(run(script, tvm, te, tir)), flush=True)
