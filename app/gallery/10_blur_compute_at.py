"""A blur in two stages: compute_at

A blur along x, then along y. Inline the first stage, and it is computed three times; give it a loop nest of its own,
and the whole intermediate image goes through memory; compute it at a strip of the second, and both stay in cache.
"""

import tvm
from tvm import te

height, width = 1024, 1024
image = te.placeholder((height + 2, width + 2), name="image")
across = te.compute(
    (height + 2, width),
    lambda y, x: (image[y, x] + image[y, x + 1] + image[y, x + 2]) / 3.0,
    name="across",
)
blur = te.compute(
    (height, width),
    lambda y, x: (across[y, x] + across[y + 1, x] + across[y + 2, x]) / 3.0,
    name="blur",
)

s = te.create_schedule(blur.op)
y, x = blur.op.axis
yo, yi = s[blur].split(y, factor=32)
s[across].compute_at(s[blur], yo)
xo, xi = s[blur].split(x, factor=16)
s[blur].vectorize(xi)
ao, ai = s[across].split(across.op.axis[1], factor=16)
s[across].vectorize(ai)
s[blur].parallel(yo)

two_steps = tvm.build(s, [image, blur], target="llvm -mcpu=native", name="blur")
