"""Examples of transforms of signals."""

from __future__ import annotations

from functools import partial

import numpy as np

from compiler import relay
from tests.compiler.relay.op.example import Example, floats

_RE, _IM = floats(2, 3, 5), floats(2, 3, 5, seed=1)
_SPECTRUM = np.fft.fft(_RE + 1j * _IM)
_SIGNALS = floats(2, 20)
_FRAMES = np.stack([_SIGNALS[:, start : start + 8] for start in (0, 3, 6, 9, 12)], 1)
_HALF = np.fft.rfft(_FRAMES).transpose(0, 2, 1)

EXAMPLES: dict[str, list[Example]] = {
    "dft": [
        Example(relay.dft, [_RE, _IM], [_SPECTRUM.real, _SPECTRUM.imag]),
        Example(partial(relay.dft, inverse=True), [_RE, _IM]),
    ],
    "stft": [
        Example(
            partial(relay.stft, n_fft=8, hop_length=3),
            [_SIGNALS],
            np.stack([_HALF.real, _HALF.imag], -1),
            tolerance=1e-4,
        ),
        Example(
            lambda x, w: relay.stft(x, 8, 2, 5, w, normalized=True, onesided=False),
            [floats(1, 12), floats(5)],
            tolerance=1e-4,
        ),
    ],
}
