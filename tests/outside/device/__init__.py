"""What a machine with an NVIDIA GPU shows of the code generated for it; see ``__main__``."""
