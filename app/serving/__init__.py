"""The HTTP server of the explorer, robust against slow and hostile clients.

An event loop reads requests and writes responses; threads only work, and only for requests that have come completely.
Whatever a client may take is bounded: connections, time, bytes, turns of the threads, streams.
"""
