"""Programs for GPUs: NVIDIA's compilers, emulation, the visitor's own."""
