"""Importers of TensorFlow, TensorFlow Lite and Keras, and what TVM's importers offer to programs beside."""

from pathlib import Path

from compiler.relay import frontend

SOURCES = (str(Path(__file__).parent), *frontend.__path__)
"""The folders of the importers' own code, whose lines are not where a node of a model comes from."""
