"""The backend tests inside the onnx package: ``python -m tests.outside.onnx_backend``."""
