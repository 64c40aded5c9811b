"""Calling machine code in another process or on another machine: sessions, servers and a tracker.

Who runs what::

    program            RPCSession, RemoteArray, RemoteModule      client.py, remote.py
      | frames.py, handshake.py                                   over TCP
    server process     accepts, forks, ends what takes too long   server.py
      | fork
    session process    loads and calls what it was sent           session.py

The protocol is this package's own, not that of TVM's binaries.
"""
