"""The compiled filter decides every call as the one that libseccomp makes from the same rules."""

from __future__ import annotations

import errno
import itertools
import random
import struct
import tempfile
from collections.abc import Iterable, Iterator

import pytest

from app.sandbox import seccomp, syscalls
from app.sandbox.seccomp import Check, Instruction, Rule
from app.sandbox.syscalls import Machine
from app.sandbox.tier import FileAccess

libseccomp = pytest.importorskip(
    "pyseccomp", reason="libseccomp is not installed", exc_type=(ImportError, RuntimeError)
)

PID = 4242
JUMP, JUMP_GREATER, JUMP_IF_ANY_BIT = 0x05, 0x25, 0x45
WORD = (1 << 32) - 1
NO_SUCH_CALL = 600


def run(program: Iterable[Instruction], data: bytes) -> int:
    """Return what a BPF program returns for a ``seccomp_data``."""
    code, accumulator, position = list(program), 0, 0
    while True:
        operation, if_true, if_false, operand = code[position]
        position += 1
        match operation:
            case seccomp.LOAD:
                (accumulator,) = struct.unpack_from("<I", data, operand)
            case seccomp.AND:
                accumulator &= operand
            case seccomp.JUMP_EQUAL:
                position += if_true if accumulator == operand else if_false
            case seccomp.JUMP_AT_LEAST:
                position += if_true if accumulator >= operand else if_false
            case _ if operation == JUMP_GREATER:
                position += if_true if accumulator > operand else if_false
            case _ if operation == JUMP_IF_ANY_BIT:
                position += if_true if accumulator & operand else if_false
            case _ if operation == JUMP:
                position += operand
            case seccomp.RETURN:
                return operand
            case _:
                raise AssertionError(f"the instruction {operation:#x} is not known")


def comparisons(checks: Iterable[Check]) -> Iterator[tuple[object, ...]]:
    """The conjunctions, of which one must hold: an argument has one comparison, of both of its halves at once."""
    for chosen in itertools.product(*([(check, value) for value in check.values] for check in checks)):
        joined: dict[int, tuple[int, int]] = {}
        for check, value in chosen:
            shift = 32 * check.high
            mask, expected = joined.get(check.argument, (0, 0))
            joined[check.argument] = mask | check.mask << shift, expected | (value & check.mask) << shift
        yield tuple(libseccomp.Arg(n, libseccomp.MASKED_EQ, *masked) for n, masked in joined.items())


def contradictions(check: Check) -> Iterator[object]:
    """The comparisons, of which one holds where a check of one value does not: one for each bit."""
    (value,) = check.values
    for bit in (1 << position for position in range(32) if check.mask >> position & 1):
        yield libseccomp.Arg(check.argument, libseccomp.MASKED_EQ, bit, ~value & bit)


def add(filter_: libseccomp.SyscallFilter, number: int, rule: Rule) -> None:
    for conjunction in comparisons(rule.checks):
        filter_.add_rule(libseccomp.ALLOW, number, *conjunction)
    if rule.refusal == errno.EPERM:
        return  # what is not allowed
    (check,) = rule.checks
    refusal = libseccomp.ERRNO(rule.refusal)
    if not check.values:
        filter_.add_rule(refusal, number)
        return
    for comparison in contradictions(check):
        filter_.add_rule(refusal, number, comparison)


def reference(machine: Machine, files: FileAccess) -> list[Instruction]:
    """The rules as libseccomp compiles them."""
    architecture = {"x86_64": libseccomp.Arch.X86_64, "aarch64": libseccomp.Arch.AARCH64}[machine]
    filter_ = libseccomp.SyscallFilter(libseccomp.ERRNO(errno.EPERM))
    filter_.set_attr(libseccomp.Attr.ACT_BADARCH, libseccomp.KILL_PROCESS)
    if architecture != libseccomp.system_arch():
        filter_.add_arch(architecture)
        filter_.remove_arch(libseccomp.Arch.NATIVE)
    for name in sorted(syscalls.NUMBERS):
        number = syscalls.number(name, machine)
        if number is None:
            continue
        rule = seccomp.checked(PID, files).get(name)
        if name in seccomp.FATAL:
            filter_.add_rule(libseccomp.KILL_PROCESS, name)
        elif rule is not None:
            add(filter_, libseccomp.resolve_syscall(libseccomp.Arch.NATIVE, name), rule)
        elif name in seccomp.allowed(files):
            filter_.add_rule(libseccomp.ALLOW, name)
    with tempfile.TemporaryFile() as file:
        filter_.export_bpf(file)
        file.seek(0)
        return list(struct.iter_unpack("<HBBI", file.read()))


def arguments(rng: random.Random, files: FileAccess) -> tuple[int, ...]:
    """Six arguments, which satisfy rules, miss them by a bit, or are anything."""
    values = [v for rule in seccomp.checked(PID, files).values() for check in rule.checks for v in check.values]

    def one() -> int:
        value = rng.choice([*values, 0, 1, WORD, rng.getrandbits(32)])
        low = value ^ rng.choice([0, 0, 1 << rng.randrange(32)])
        return low | rng.choice([0, 0, 1, WORD, rng.getrandbits(32)]) << 32

    return tuple(one() for _ in range(6))


@pytest.mark.parametrize("files", FileAccess)
@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_both_filters_decide_alike(machine: Machine, files: FileAccess) -> None:
    ours, theirs = seccomp.program(PID, files, machine), reference(machine, files)
    rng = random.Random(0)
    checked = {syscalls.number(name, machine) for name in seccomp.checked(PID, files)}
    architecture = seccomp.AUDIT_ARCHITECTURE[machine]
    for number in [*range(NO_SUCH_CALL), seccomp.X32_BIT, seccomp.X32_BIT | 39, 1 << 31]:
        for _ in range(60 if number in checked else 1):
            given = arguments(rng, files)
            data = struct.pack("<IIQ6Q", number, architecture, rng.getrandbits(64), *given)
            assert run(ours, data) == run(theirs, data), (number, [hex(value) for value in given])


@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_both_filters_end_the_programs_of_other_machines(machine: Machine) -> None:
    ours, theirs = (
        f(machine)
        for f in (lambda m: seccomp.program(PID, FileAccess.READ, m), lambda m: reference(m, FileAccess.READ))
    )
    for architecture in {*seccomp.AUDIT_ARCHITECTURE.values(), 0x4000_0003, 0} - {seccomp.AUDIT_ARCHITECTURE[machine]}:
        data = struct.pack("<IIQ6Q", 39, architecture, 0, *[0] * 6)
        assert run(ours, data) == run(theirs, data) == seccomp.KILL_PROCESS


@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_calls_have_the_numbers_that_libseccomp_knows(machine: Machine) -> None:
    architecture = {"x86_64": libseccomp.Arch.X86_64, "aarch64": libseccomp.Arch.AARCH64}[machine]
    numbers = {name: libseccomp.resolve_syscall(architecture, name) for name in syscalls.NUMBERS}
    assert {n: v if v >= 0 else None for n, v in numbers.items()} == {n: syscalls.number(n, machine) for n in numbers}
