"""Graph drawings: layout, folding of large graphs, frames around groups, SVG."""
