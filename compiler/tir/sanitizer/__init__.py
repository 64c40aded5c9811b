"""A checking interpreter of kernels, which runs them thread by thread and reports undefined behaviour."""

from compiler.tir.sanitizer.program import MAX_ACCESSES, sanitize
from compiler.tir.sanitizer.reports import Fault, Report, SanitizerResult, Site

__all__ = ["MAX_ACCESSES", "Fault", "Report", "SanitizerResult", "Site", "sanitize"]
