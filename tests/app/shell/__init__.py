"""Tests of the command ``strata``."""
