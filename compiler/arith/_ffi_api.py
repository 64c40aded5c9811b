"""The functions of TVM's C++ core that programs call directly."""

from compiler.arith.solve_linear_inequalities import solve_inequalities_as_condition

SolveInequalitiesAsCondition = solve_inequalities_as_condition
