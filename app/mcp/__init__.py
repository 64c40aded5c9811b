"""The explorer for assistants, by the Model Context Protocol: its API as tools, lessons and examples as resources.

The server's side of the protocol is own code: of its dozens of messages a server without sessions answers eight, and
the official package would bring its own HTTP server, event loop and models.  The tests ask with the official client.
"""
