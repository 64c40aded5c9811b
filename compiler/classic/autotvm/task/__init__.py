"""Tuning tasks: templates, configuration spaces, and contexts that choose a configuration."""

from typing import TYPE_CHECKING

from compiler.classic.autotvm.task import dispatcher, record, space, topi_integration
from compiler.classic.autotvm.task.dispatcher import *  # noqa: F403
from compiler.classic.autotvm.task.space import ConfigEntity, ConfigSpace
from compiler.classic.autotvm.task.task import Task, create, get_config, template
from compiler.classic.autotvm.task.topi_integration import get_workload, register_topi_compute, register_topi_schedule
from compiler.classic.autotvm.task.workload import args_to_workload, deserialize_args, serialize_args
from compiler.ir.extension import public_module

__all__ = [
    *dispatcher.__all__, "ConfigEntity", "ConfigSpace", "Task", "args_to_workload", "create", "deserialize_args",
    "dispatcher", "get_config", "get_workload", "record", "register_topi_compute", "register_topi_schedule",
    "serialize_args", "space", "template", "topi_integration",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.autotvm.task", __all__)
