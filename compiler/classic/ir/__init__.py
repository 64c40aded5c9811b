"""Names of TVM's ``ir`` that no module of the core defines."""
