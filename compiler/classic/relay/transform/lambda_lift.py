"""LambdaLift: lifts local functions to global ones."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.names import take_name
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.ir.structural import structural_equal, structural_hash
from compiler.ir.transform import ModulePass, PassContext
from compiler.relay.analysis import bottom_up, free_type_vars, free_vars, post_order
from compiler.relay.analysis.scopes import is_kernel
from compiler.relay.expr import Call, GraphExpr, Let, Var
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.inference import infer_copies


class LambdaLift(ModulePass, opt_level=1):
    """Make a function of the module of every local function.

    Level 1.  Where it captures variables, it becomes the result of a function of those variables, which has the
    attribute ``Closure``.  Equal functions become one.  After T. Johnsson, "Lambda lifting: transforming programs to
    recursive equations", FPCA 1985.

    Examples
    --------
    ``LambdaLift()``::

        def @main(%x: Tensor[(3), float32]) {
          let %f = fn (%y: Tensor[(3), float32]) { add(%x, %y) };
          %f(%x)
        }
        ->
        def @main(%x: Tensor[(3), float32]) {
          let %f = @lifted_f(%x);
          %f(%x)
        }
        def @lifted_f(%x: Tensor[(3), float32], Closure=1) { fn (%y: Tensor[(3), float32]) { add(%x, %y) } }
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        names = {var.name_hint for var in mod}
        functions: dict[GlobalVar, RelayExpr] = {}
        for var, func in infer_copies(mod).items():
            functions[var] = func
            if isinstance(func, Function) and not is_kernel(func) and not func.attrs.get("Closure"):
                lifter = _Lifter(names)
                functions[var] = lifter.lift_inside(func)
                functions.update(lifter.lifted)
        result = mod.with_functions(functions)
        return mod if result is mod else infer_copies(result)


class _Lifter(ExprMutator):
    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self.lifted: dict[GlobalVar, Function] = {}
        self._names = names
        self._own_names: dict[Function, Var] = {}
        self._by_hash: dict[int, list[GlobalVar]] = {}

    def lift_inside(self, func: Function) -> Function:
        """Return a function of the module without local functions."""
        for part in post_order(func.body):
            if isinstance(part, Let) and isinstance(part.value, Function):
                self._own_names.setdefault(part.value, part.var)
        with derived_from(func.span):
            return rebuild(func, body=bottom_up(self, func.body))

    def visit_function(self, fn: Function) -> RelayExpr:
        return fn if is_kernel(fn) else self._lift(fn, self._own_names.get(fn))

    def _lift(self, fn: Function, name: Var | None) -> RelayExpr:
        """Lift a local function and return what replaces it; ``name`` is the variable by which it may call itself."""
        captured = tuple(v for v in free_vars(fn) if v is not name)
        gvar = GlobalVar(take_name("lifted" if name is None else f"lifted_{name.name_hint}", self._names))
        inside: dict[GraphExpr, Var] = {
            old: Var(old.name_hint, old.type_annotation or old.checked_type_) for old in captured
        }
        body = self.visit(fn.body)
        itself = Call(gvar, tuple(inside.values())) if captured else gvar
        body = bottom_up(_Rename({**inside, **({name: itself} if name is not None else {})}), body)
        lifted = rebuild(fn, body=body)
        if captured:
            lifted = Function(tuple(inside.values()), lifted, None, (), DictAttrs(Closure=1))
        # It is closed now, so it binds the type variables of the function that was around it as well.
        outer_types = tuple(free_type_vars(lifted))
        if outer_types:
            lifted = rebuild(lifted, type_params=(*lifted.type_params, *outer_types))
        gvar = self._shared(gvar, lifted)
        return Call(gvar, captured) if captured else gvar

    def _shared(self, gvar: GlobalVar, lifted: Function) -> GlobalVar:
        """Return the function of the module that is equal to a lifted one, or that one under its own name."""
        same = self._by_hash.setdefault(structural_hash(lifted), [])
        for known in same:
            if structural_equal(self.lifted[known], lifted):
                self._names.discard(gvar.name_hint)
                return known
        same.append(gvar)
        self.lifted[gvar] = lifted
        return gvar


class _Rename(ExprMutator):
    def __init__(self, new: Mapping[GraphExpr, RelayExpr]) -> None:
        super().__init__()
        self._new = new

    def visit_var(self, var: Var) -> RelayExpr:
        return self._new.get(var, var)
