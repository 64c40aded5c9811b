"""Drawings of graphs: layout, folding of large graphs, frames around groups, SVG."""
