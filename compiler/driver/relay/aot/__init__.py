"""The ahead-of-time executor: one loop IR function calls the kernels of a model in order.

:mod:`~compiler.driver.relay.aot.main_function` writes that function, :mod:`~compiler.driver.relay.aot.factory` compiles
it together with its kernels, and :mod:`~compiler.driver.relay.metadata` describes both.
"""
