"""Recurrent layers of TensorFlow Lite beside its interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tflite")
tf = pytest.importorskip("tensorflow")
from tests.compiler.classic.frontend.test_tflite_operators import computed, expected_of  # noqa: E402
from tests.compiler.classic.frontend.tflite_models import Given, model_of  # noqa: E402

BATCH, TIME, WIDTH, UNITS = 2, 5, 3, 4
TANH, RELU = 4, 1


def numbers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape) + len(shape)).uniform(-1, 1, shape).astype("float32")


def state(units: int = UNITS) -> Given:
    return Given((BATCH, units), is_variable=True)


def compare(data: bytes, *shapes: tuple[int, ...]) -> None:
    inputs = [np.random.default_rng(0).uniform(-2, 2, shape).astype("float32") for shape in shapes]
    results, expected = computed(data, inputs), expected_of(data, inputs)
    assert len(results) == len(expected)
    for result, reference in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-5)


def lstm_weights(form: str, units: int, results: int) -> list[Any]:
    """Return weights of gates, in the order of the model: of inputs, of results, peepholes, biases, the projection."""
    weights: list[Any] = [numbers(units, WIDTH) + 0.1 * i for i in range(4)]
    weights += [numbers(units, results) - 0.1 * i for i in range(4)]
    weights += [numbers(units) + i for i in range(3)] if form == "peepholes" else [None] * 3
    weights += [numbers(units) * i for i in range(4)]
    weights += [numbers(results, units), numbers(results)] if form == "projection" else [None, None]
    if form == "coupled":
        weights[0] = weights[4] = weights[11] = None
    return weights


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("form", ["plain", "coupled", "peepholes", "projection", "norms", "clipped"])
def test_lstm_over_a_sequence(form: str, time_major: bool) -> None:
    results = 2 if form == "projection" else UNITS
    lead = (TIME, BATCH) if time_major else (BATCH, TIME)
    norms = [numbers(UNITS) + i for i in range(4)] if form == "norms" else []
    clip = {"cellClip": 0.3} if form == "clipped" else {"projClip": 0.2} if form == "projection" else {}
    data = model_of(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        [Given((*lead, WIDTH)), *lstm_weights(form, UNITS, results), state(results), state(), *norms],
        [Given((*lead, results))],
        kind="UnidirectionalSequenceLSTMOptions",
        fusedActivationFunction=TANH,
        timeMajor=time_major,
        **clip,
    )
    compare(data, (*lead, WIDTH))


def lstm_in_both_directions(merged: bool) -> bytes:
    weights = lstm_weights("plain", UNITS, UNITS)
    other = [None if w is None else -w for w in weights]
    ways = [Given((BATCH, TIME, 2 * UNITS))] if merged else [Given((BATCH, TIME, UNITS))] * 2
    return model_of(
        "BIDIRECTIONAL_SEQUENCE_LSTM",
        [Given((BATCH, TIME, WIDTH)), *weights, *other, *(state() for _ in range(4)), *[None] * 9],
        ways,
        kind="BidirectionalSequenceLSTMOptions",
        fusedActivationFunction=TANH,
        mergeOutputs=merged,
        timeMajor=False,
    )


def test_lstm_in_both_directions() -> None:
    compare(lstm_in_both_directions(False), (BATCH, TIME, WIDTH))


def test_lstm_in_both_directions_with_one_result() -> None:
    """Its interpreter does not write all elements of such a result where there are several batches."""
    x = numbers(BATCH, TIME, WIDTH)
    parts = expected_of(lstm_in_both_directions(False), [x])
    (result,) = computed(lstm_in_both_directions(True), [x])
    np.testing.assert_allclose(result, np.concatenate(parts, 2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [TIME, 300])
def test_simple_cells_over_a_sequence(length: int) -> None:
    weights = [numbers(UNITS, WIDTH), 0.5 * numbers(UNITS, UNITS), numbers(UNITS)]
    data = model_of(
        "UNIDIRECTIONAL_SEQUENCE_RNN",
        [Given((BATCH, length, WIDTH)), *weights, state()],
        [Given((BATCH, length, UNITS))],
        kind="SequenceRNNOptions",
        fusedActivationFunction=TANH,
        timeMajor=False,
    )
    compare(data, (BATCH, length, WIDTH))


def test_simple_cells_in_both_directions() -> None:
    weights = [numbers(UNITS, WIDTH), numbers(UNITS, UNITS), numbers(UNITS)]
    data = model_of(
        "BIDIRECTIONAL_SEQUENCE_RNN",
        [Given((BATCH, TIME, WIDTH)), *weights, state(), *(-w for w in weights), state(), None, None, None],
        [Given((BATCH, TIME, 2 * UNITS))],
        kind="BidirectionalSequenceRNNOptions",
        fusedActivationFunction=TANH,
        timeMajor=False,
        mergeOutputs=True,
    )
    compare(data, (BATCH, TIME, WIDTH))


def test_single_steps() -> None:
    simple = [numbers(UNITS, WIDTH), numbers(UNITS, UNITS), numbers(UNITS), state()]
    result = [Given((BATCH, UNITS))]
    compare(
        model_of("RNN", [Given((BATCH, WIDTH)), *simple], result, kind="RNNOptions", fusedActivationFunction=RELU),
        (BATCH, WIDTH),
    )
    whole = [*lstm_weights("plain", UNITS, UNITS), state(), state()]
    data = model_of("LSTM", [Given((BATCH, WIDTH)), *whole], result, kind="LSTMOptions", fusedActivationFunction=TANH)
    compare(data, (BATCH, WIDTH))


def test_lstm_with_one_weight() -> None:
    given = [Given((BATCH, WIDTH)), Given((BATCH, UNITS)), numbers(4 * UNITS, WIDTH + UNITS), numbers(4 * UNITS)]
    results = [Given((BATCH, n)) for n in (UNITS, UNITS, WIDTH + UNITS, 4 * UNITS)]
    data = model_of(
        "LSTM", [*given, Given((BATCH, UNITS))], results, kind="LSTMOptions", kernelType=1, fusedActivationFunction=TANH
    )
    x, h, c = (numbers(*shape) for shape in ((BATCH, WIDTH), (BATCH, UNITS), (BATCH, UNITS)))
    own, expected = computed(data, [x, h, c]), expected_of(data, [x, h, c])
    for result, reference in zip(own[:2], expected[:2], strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rank", [1, 2])
def test_filters_with_a_memory(rank: int) -> None:
    filters, memory = UNITS * rank, 6
    data = model_of(
        "SVDF",
        [
            Given((BATCH, WIDTH)),
            numbers(filters, WIDTH),
            numbers(filters, memory),
            numbers(UNITS),
            state(filters * memory),
        ],
        [Given((BATCH, UNITS))],
        kind="SVDFOptions",
        rank=rank,
        fusedActivationFunction=RELU,
    )
    compare(data, (BATCH, WIDTH))


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("most", [3, 9])
def test_the_best_of_boxes_that_overlap(version: int, most: int) -> None:
    random = np.random.default_rng(3)
    boxes, scores = random.uniform(0, 1, (8, 4)).astype("float32"), random.uniform(0, 1, 8).astype("float32")
    limits = [np.array(most, "int32"), np.array(0.2, "float32"), np.array(0.15, "float32")]
    soft = [np.array(0, "float32")] if version == 5 else []
    results = [Given((most,), "int32"), *([Given((most,))] if version == 5 else []), Given((), "int32")]
    data = model_of(
        f"NON_MAX_SUPPRESSION_V{version}",
        [Given((8, 4)), Given((8,)), *limits, *soft],
        results,
        kind=f"NonMaxSuppressionV{version}Options",
    )
    own, expected = computed(data, [boxes, scores]), expected_of(data, [boxes, scores])
    count = int(expected[-1])
    assert 0 < count < 8
    for result, reference in zip(own[:-1], expected[:-1], strict=True):
        np.testing.assert_allclose(result[:count], reference[:count], rtol=1e-6)
    assert int(own[-1]) == count
