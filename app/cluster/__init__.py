"""Runs jobs on the machines of a Dask.distributed cluster.

:class:`~app.cluster.runner.Cluster` is the server's side, a runner like the sandbox of one machine;
:mod:`app.cluster.host` is a machine's, ``python -m app.cluster``.  Dask chooses the machine and keeps slots.  What a
script is made of, and all that comes back from it, travels as MessagePack through two queues of the scheduler: the only
thing that Dask ever pickles is the name of a function of ours, with the name of a queue.
"""
