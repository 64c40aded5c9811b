"""A search by classic TVM, run by its interpreter: ``WORKLOAD TARGET FOLDER SEARCH``, and ``build`` at the end.

``auto_scheduler`` and ``meta_schedule`` search until they are killed and note what they find in the folder; ``build``
makes ``found.so`` of the best.
"""

import sys
from pathlib import Path

import tvm
from tvm import auto_scheduler, te, topi
from tvm import meta_schedule as ms

NAME = "run"
FOR_EVER = 10**6


def _inputs(**shapes):
    return [te.placeholder(shape, name=name) for name, shape in shapes.items()]


def _product(a, b, rows, columns, depth, at):
    """Return a product of matrices whose second one may be packed; what topi makes of it cannot be, in TVM 0.19."""
    k = te.reduce_axis((0, depth), name="k")
    free = {"layout_free_placeholders": [b]}
    return te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[at(j, k)], axis=k), name="product", attrs=free)


def _matmul(size):
    a, b = _inputs(a=(size, size), b=(size, size))
    return [a, b, _product(a, b, size, size, size, lambda j, k: (k, j))]


def _dense_gelu():
    x, w, bias = _inputs(x=(128, 768), w=(3072, 768), bias=(3072,))
    y = topi.add(_product(x, w, 128, 3072, 768, lambda j, k: (j, k)), bias)
    return [x, w, bias, topi.multiply(topi.multiply(y, 0.5), topi.add(topi.erf(topi.multiply(y, 0.5**0.5)), 1.0))]


def _softmax():
    (x,) = _inputs(x=(128, 1024))
    return [x, topi.nn.softmax(x)]


def _layer_norm():
    """Normalise rows by sums of their deviations; topi takes the difference of two sums, which loses digits."""
    x, gamma, beta = _inputs(x=(128, 768), gamma=(768,), beta=(768,))
    less = topi.subtract(x, topi.divide(topi.sum(x, 1, keepdims=True), 768.0))
    variance = topi.divide(topi.sum(topi.multiply(less, less), 1, keepdims=True), 768.0)
    scaled = topi.multiply(less, topi.rsqrt(topi.add(variance, 1e-5)))
    return [x, gamma, beta, topi.add(topi.multiply(scaled, gamma), beta)]


def _attention():
    q, k = _inputs(q=(12, 128, 64), k=(12, 128, 64))
    return [q, k, topi.nn.batch_matmul(q, k)]


def _convolution(channels, size):
    x, w = _inputs(x=(1, channels, size, size), w=(channels, channels, 3, 3))
    return [x, w, topi.nn.relu(topi.nn.conv2d_nchw(x, w, 1, 1, 1))]


WORKLOADS = {
    "matmul 512": lambda: _matmul(512),
    "matmul 1024": lambda: _matmul(1024),
    "dense+bias+GELU 128x768x3072": _dense_gelu,
    "softmax 128x1024": _softmax,
    "layer norm 128x768": _layer_norm,
    "attention 12x128x64": _attention,
    "conv2d 64x56x56 3x3 + relu": lambda: _convolution(64, 56),
    "conv2d 128x28x28 3x3 + relu": lambda: _convolution(128, 28),
    "conv2d 256x14x14 3x3 + relu": lambda: _convolution(256, 14),
    "conv2d 512x7x7 3x3 + relu": lambda: _convolution(512, 7),
}


@auto_scheduler.register_workload
def workload(name):
    """Return the arguments of a definition, by its name."""
    return WORKLOADS[name]()


def by_auto_scheduler(name, target, folder, is_over):
    """Search, or build the best of the log."""
    task, log = auto_scheduler.SearchTask(func=workload, args=(name,), target=target), str(folder / "log.json")
    if is_over:
        schedule, args = task.apply_best(log)
        return tvm.build(schedule, args, target, name=NAME)
    options = auto_scheduler.TuningOptions(FOR_EVER, measure_callbacks=[auto_scheduler.RecordToFile(log)], verbose=0)
    return task.tune(options)


def by_meta_schedule(name, target, folder, is_over):
    """Search, or build the best of the database."""
    module = tvm.IRModule({"main": te.create_prim_func(WORKLOADS[name]())})
    if not is_over:
        return ms.tune_tir(module, target, str(folder), FOR_EVER, num_trials_per_iter=16)
    files = [str(folder / f"database_{kind}.json") for kind in ("workload", "tuning_record")]
    found = ms.tir_integration.compile_tir(ms.database.JSONDatabase(*files), module, target)
    return tvm.build(tvm.IRModule({NAME: found.mod["main"].with_attr("global_symbol", NAME)}), target=target)


SEARCHES = {"auto_scheduler": by_auto_scheduler, "meta_schedule": by_meta_schedule}

if __name__ == "__main__":
    chosen, made_for, path, search, *rest = sys.argv[1:]
    place = Path(path)
    built = SEARCHES[search](chosen, tvm.target.Target(made_for), place, bool(rest))
    if rest:
        built.export_library(str(place / "found.so"))
