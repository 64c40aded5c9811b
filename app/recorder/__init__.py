"""The recorder, which runs inside the sandboxed child: takes a request and emits artifacts.

The script is never parsed: it runs, and the recorder watches it through the compiler's own instruments.  A request to
measure has no script, only a program that was recorded in another child.
"""
