"""What is here only because TVM has the name: nothing in the rest of the library imports it.

Importing it gives the packages of the core the names that TVM has beside theirs, and ``tvm`` its older ones.
"""

from compiler.classic.names.resolution import extend

extend()
