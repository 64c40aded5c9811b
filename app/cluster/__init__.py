"""Runs jobs on the machines of a Dask.distributed cluster.

:class:`~app.cluster.runner.Cluster` is the server side, with the same interface as the local sandbox;
:mod:`app.cluster.host` is the worker side, ``python -m app.cluster``.  Dask schedules jobs to workers and accounts for
their slots.  Scripts and their output are sent as MessagePack through two queues of the scheduler: all that Dask
pickles is a reference to one function, with the name of a queue.
"""
