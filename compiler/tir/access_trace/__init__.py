"""Traces of memory accesses in program order, and their behaviour in simulated caches."""

from compiler.tir.access_trace.cache import CacheLevel, CacheReport, LevelReport, MissKind, simulate_caches
from compiler.tir.access_trace.recording import AccessTrace, Loop, Memory, Site, record_accesses
from compiler.tir.access_trace.reuse import Footprint, footprints, reuse_distances, stack_distances
from compiler.tir.access_trace.structure import loop_structure

__all__ = [
    "AccessTrace", "CacheLevel", "CacheReport", "Footprint", "LevelReport", "Loop", "Memory", "MissKind", "Site",
    "footprints", "loop_structure", "record_accesses", "reuse_distances", "simulate_caches", "stack_distances",
]  # fmt: skip
