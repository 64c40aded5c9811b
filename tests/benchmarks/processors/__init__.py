"""A contract of the code that is generated for processors, most of which are not at hand."""
