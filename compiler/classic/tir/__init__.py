"""Parts of TVM's TIR that no build needs."""
