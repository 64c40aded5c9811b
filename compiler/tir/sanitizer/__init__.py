"""A checking interpreter of kernels: runs them thread by thread, and reports what no device may be given."""

from compiler.tir.sanitizer.program import MAX_ACCESSES, sanitize
from compiler.tir.sanitizer.reports import Fault, Report, Sanitized, Site

__all__ = ["MAX_ACCESSES", "Fault", "Report", "Sanitized", "Site", "sanitize"]
