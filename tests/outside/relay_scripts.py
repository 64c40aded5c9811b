"""Random graphs as scripts, each with passes to run over it: the same text for this compiler and for another TVM."""

from __future__ import annotations

from random import Random

__all__ = ["relay_script"]

_UNARY = ("nn.relu", "negative", "abs")
_BINARY = ("add", "subtract", "multiply", "maximum", "minimum")
_PASSES = (
    "CanonicalizeOps()",
    "CombineParallelDense(min_num_branches=2)",
    "DeadCodeElimination()",
    "DefuseOps()",
    "EliminateCommonSubexpr()",
    "FoldConstant()",
    "FoldScaleAxis()",
    "FuseOps(2)",
    "PartialEvaluate()",
    "SimplifyExpr()",
    "SimplifyInference()",
    "ToANormalForm()",
    "ToBasicBlockNormalForm()",
    "ToGraphNormalForm()",
)


class _Script:
    """The lines of a script, and what each value that they name has for a shape."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.lines = ['x = relay.var("x", shape=(2, 4))', 'w = relay.var("w", shape=(4, 4))']
        self.shapes = {"x": (2, 4), "w": (4, 4)}

    def value(self, shape: tuple[int, int] | None = None) -> str:
        """Return the name of a value, of a shape if that is given."""
        return self.rng.choice([name for name, s in self.shapes.items() if shape in (None, s)])

    def add(self, code: str, shape: tuple[int, int]) -> None:
        name = f"v{len(self.shapes)}"
        self.lines.append(f"{name} = {code}")
        self.shapes[name] = shape

    def step(self) -> None:
        a = self.value()
        rows, columns = shape = self.shapes[a]
        match self.rng.randrange(6):
            case 0:
                self.add(f"relay.{self.rng.choice(_UNARY)}({a})", shape)
            case 1:
                self.add(f"relay.{self.rng.choice(_BINARY)}({a}, {self.value(shape)})", shape)
            case 2 if columns == 4:
                self.add(f"relay.nn.dense({a}, {self.value((4, 4))})", (rows, 4))
            case 3:
                factors = [self.rng.randrange(1, 4) for _ in range(columns)]
                self.add(f"relay.multiply({a}, relay.const(np.array({factors}, 'float32')))", shape)
            case 4:
                self.add(f"relay.split({a}, 2, axis=1)[{self.rng.randrange(2)}]", (rows, columns // 2))
                half = list(self.shapes)[-1]
                self.add(f"relay.concatenate([{half}, {half}], axis=1)", shape)
            case _:
                self.add(f"relay.add({a}, relay.const(2.0) * relay.const(3.0))", shape)


def relay_script(seed: int) -> str:
    """Return a script that defines ``func``, a function of graphs, and ``passes``, a list.

    Parameters
    ----------
    seed : int

    Returns
    -------
    str
        For a namespace with ``relay`` and ``np``.
    """
    script = _Script(seed)
    for _ in range(script.rng.randrange(3, 12)):
        script.step()
    names = list(script.shapes)
    result = f"relay.Tuple([{names[-1]}, {script.value()}])"
    chosen = script.rng.sample(_PASSES, script.rng.randrange(1, 4))
    passes = ", ".join(f"relay.transform.{p}" for p in chosen)
    return "\n".join([*script.lines, f"func = relay.Function([x, w], {result})", f"passes = [{passes}]", ""])
