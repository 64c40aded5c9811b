"""The HTTP server of the explorer, robust against slow and hostile clients.

An event loop reads requests and writes responses; threads only run the application, once a request was received
completely.  Every resource that a client can hold is limited: connections, time, bytes, threads, streams.
"""
