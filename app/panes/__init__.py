"""The contents of panes: the pane table, timeline, linked listings, numbers and charts."""
