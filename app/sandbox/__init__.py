"""Runs strangers' Python, and the native code it makes, behind walls that the operating system keeps up."""

from app.sandbox.client import Job, Outcome, Sandbox, SandboxError
from app.sandbox.limits import Limits
from app.sandbox.tier import Mechanism, Tier

__all__ = ["Job", "Limits", "Mechanism", "Outcome", "Sandbox", "SandboxError", "Tier"]
