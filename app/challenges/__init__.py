"""Challenges: permanent problems, each the definition of a computation to schedule, with a board per processor."""

from app.challenges.pars import Par, read_pars
from app.challenges.problem import OWN, Problem, ProblemError, Problems, own_link, own_problem

__all__ = ["OWN", "Par", "Problem", "ProblemError", "Problems", "own_link", "own_problem", "read_pars"]
