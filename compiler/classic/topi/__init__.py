"""Functions of ``topi`` that no operator here needs."""
