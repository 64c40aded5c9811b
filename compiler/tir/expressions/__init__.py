"""Calls, intrinsics and arithmetic of loop IR."""
