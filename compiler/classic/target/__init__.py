"""Names of targets and memory that only TVM's programs use."""
