"""What programs for TVM's runtime name and nothing here needs: debugging executors, profilers' reports, ``_ffi``."""
