"""Examples of random numbers: keys at each turn that their words can take, with the figures of TVM 0.19."""

from __future__ import annotations

import numpy as np

from compiler import relay
from tests.compiler.relay.op.example import Example

random = relay.random
_HIGH = 1 << 63
_WORDS = [0x0, 0x7, 0x0, 0x5]


def _key(*words: int, path: int = 0, counter: int = 0, step: int = _HIGH) -> np.ndarray:
    return np.array([*words, *[0] * (4 - len(words)), path, 0, 0, counter, step, 0], "uint64")


def _bits(*numbers: int) -> np.ndarray:
    return np.array(numbers, "uint64")


_FIRST = (0x962B06CC22E7230E, 0xC1F1C81EFBCD382B, 0xA413346E4381FF0C, 0xC11C637D3677F887)
_SECOND = (0x5DDE5A9344A07725, 0xFAD252FBB9B7FC8C, 0xDBFF2FA6A1F28466, 0xEA8A492884470284)
_REST = (0x4DE62EDA69558121, 0x3B47FA6C7F8FCC69, 0x885C62AAEA8F817C)
_OF_WORDS = (0x9B2DEF21529F8C14, 0xD556D96B01008472, 0xB58D21310556DCAF, 0x06188D154A677BCB)
_RIGHT = (0x826BD2712D90E4D3, 0x8D919DDE9D6BA8B4, 0xE44CB4CD0C5D929B, 0x1F206EA2BAF1C2AD)

EXAMPLES: dict[str, list[Example]] = {
    "random.threefry_generate": [
        Example(lambda k: random.threefry_generate(k, (4,)), [_key()], [_key(counter=4), _bits(*_FIRST)]),
        Example(
            lambda k: random.threefry_generate(k, (2, 4)),
            [_key()],
            [_key(counter=8), _bits(*_FIRST, *_SECOND).reshape(2, 4)],
        ),
        Example(lambda k: random.threefry_generate(k, (7,)), [_key()], [_key(counter=8), _bits(*_FIRST, *_REST)]),
        Example(
            lambda k: random.threefry_generate(k, (4,)), [_key(*_WORDS)], [_key(*_WORDS, counter=4), _bits(*_OF_WORDS)]
        ),
        # The counter of this key is at its end: it goes on as the right part of its split.
        Example(
            lambda k: random.threefry_generate(k, (4,)),
            [_key(counter=(1 << 64) - 5)],
            [_key(path=_HIGH, counter=4, step=_HIGH >> 1), _bits(*_RIGHT)],
        ),
    ],
    "random.threefry_split": [
        Example(
            random.threefry_split,
            [_key(counter=12)],
            [_key(counter=12, step=_HIGH >> 1), _key(counter=12, path=_HIGH, step=_HIGH >> 1)],
        ),
        # All bits of the path of this key are decided: it gets new words.
        Example(
            random.threefry_split,
            [_key(step=0)],
            [_key(*_FIRST, step=_HIGH >> 1), _key(*_FIRST, path=_HIGH, step=_HIGH >> 1)],
        ),
    ],
    "random.uniform": [
        Example(
            lambda k: random.uniform(k, (3,)),
            [_key()],
            [_key(counter=4), np.array([0.13633930683135986, 0.9836001396179199, 0.26370227336883545], "float32")],
        ),
        Example(
            lambda k: random.uniform(k, (3,), "float64"),
            [_key()],
            [_key(counter=4), np.array([0.5865940330867514, 0.757595546306949, 0.6409180421064844])],
        ),
        Example(
            lambda k: random.uniform(k, (2,), low=-2.0, high=3.0),
            [_key()],
            [_key(counter=4), np.array([-1.3183034658432007, 2.9180006980895996], "float32")],
        ),
    ],
    "random.normal": [
        Example(
            lambda k: random.normal(k, (9,)),
            [_key()],
            [
                _key(counter=20),
                np.array(
                    [
                        *(-0.32150054, -2.14938569, 0.54355895, 0.40881836, -0.77799797),
                        *(1.044034, -1.40864539, 0.79525024, 0.83484465),
                    ],
                    "float32",
                ),
            ],
        ),
        Example(
            lambda k: random.normal(k, (2, 4), "float64", 1.0, 2.0),
            [_key()],
            [
                _key(counter=16),
                np.array(
                    [
                        [2.3074004469975273, 2.6056708168662337, 3.807901603797466, 1.642838763408041],
                        [0.4238300352865767, 0.7532181281749194, -2.4282105250239194, 3.349767047422151],
                    ]
                ),
            ],
        ),
    ],
    "random.multinomial": [
        Example(
            lambda k, p: random.multinomial(k, p, 9),
            [_key(), np.array([0.1, 0.4, -1.0, 0.5], "float32")],
            [_key(counter=12), np.array([1, 3, 1, 1, 1, 3, 3, 3, 1], "int32")],
        )
    ],
}
