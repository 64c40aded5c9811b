"""What the page shows of an answer: the table of panes, the timeline, listings with their links, numbers, charts."""
