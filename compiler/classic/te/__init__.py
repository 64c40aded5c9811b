"""Parts of TVM's tensor expressions that no build needs."""
