"""Programs for TVM 0.27, which schedules blocks alone, from schedules of tensor expressions and of blocks."""
