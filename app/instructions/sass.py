"""Instructions of SASS, the machine code of NVIDIA's GPUs from Volta on.  The destination is first.

Nothing official describes them in detail; they are what PTX becomes.
"""

from __future__ import annotations

import re

from app.instructions.operands import number
from app.instructions.rules import InstructionSet, Row

_ROWS: tuple[Row, ...] = (
    ("FFMA", "Fused multiply-add of float32, rounded once: first × second + third source."),
    ("FFMA2", "Fused multiply-add of two float32 at once."),
    ("FADD2?", "Adds float32."),
    ("FMUL2?", "Multiplies float32."),
    ("FMNMX3?", "Smaller or larger of float32: the smaller where the predicate is true.", "dssc"),
    ("FSEL", "Chooses: the first source where the predicate is true, else the second.", "dssc"),
    ("FSETP", "Compares float32 into predicates.", "ddssc"),
    ("FSET", "Compares float32 into a number."),
    ("FCHK", "Asks whether a division of float32 needs the slow way.", "ds"),
    ("FSWZADD", "Adds float32 of neighbouring threads."),
    ("MUFU", "Approximates a function in the special function unit."),
    ("DFMA", "Fused multiply-add of float64, rounded once: first × second + third source."),
    ("DADD", "Adds float64."),
    ("DMUL", "Multiplies float64."),
    ("DSETP", "Compares float64 into predicates.", "ddssc"),
    ("DMNMX", "Smaller or larger of float64.", "dssc"),
    ("HFMA2", "Fused multiply-add of two float16 at once; with a zero factor it sets a register to a constant."),
    ("HADD2", "Adds two float16 at once; with zero it converts."),
    ("HMUL2", "Multiplies two float16 at once."),
    ("HMNMX2", "Smaller or larger of two float16 at once.", "dssc"),
    ("HSETP?2", "Compares two float16 at once.", "ddssc"),
    ("[HIBDQ]G?MMA", "Product of two small matrices, added to a third, on tensor cores."),
    ("WARPSYNC", "Waits for other threads of the warp.", "m"),
    ("WARPGROUP", "Orders the products that four warps compute together.", "i"),
    ("IADD3?", "Adds up to three integers."),
    ("VIADD", "Adds two integers."),
    ("VIADDMNMX|VIMNMX3?", "Smaller or larger of integers, perhaps of a sum.", "dssc"),
    ("IMAD", "Multiplies integers and adds: first × second + third source."),
    ("IMAD\\.WIDE", "Multiplies integers to 64 bits and adds: often an address in an array."),
    ("IMAD\\.MOV", "Copies a value, on the unit that multiplies."),
    ("IMAD\\.SHL", "Shifts bits left, on the unit that multiplies."),
    ("IMAD\\.IADD", "Adds, on the unit that multiplies."),
    ("IMAD\\.X", "Multiplies and adds, with a carry: the upper half of a 64-bit sum."),
    ("IMUL", "Multiplies integers."),
    ("IDP(?:\\.4A|\\.2A)?", "Multiplies small integers, and adds the products to a 32-bit integer."),
    ("IABS", "Absolute value of an integer."),
    ("IMNMX", "Smaller or larger of integers.", "dssc"),
    ("ISETP", "Compares integers into predicates.", "ddssc"),
    ("ISCADD", "Shifts and adds: an address in an array."),
    ("LEA", "Shifts the first source left and adds the second: an address in an array."),
    ("LOP3?", "Any bitwise function of three registers; the number before the last is its table of truth."),
    ("PLOP3", "Any function of three predicates."),
    ("SHF", "Shifts the bits of one or two registers."),
    ("SHL", "Shifts bits left."),
    ("SHR", "Shifts bits right."),
    ("BMSK|SGXT|BREV|FLO|POPC", "Makes, widens, reverses, finds or counts bits."),
    ("PRMT", "Picks bytes of two registers by their numbers."),
    ("SEL", "Chooses: the first source where the predicate is true, else the second.", "dssc"),
    ("MOV", "Copies a value."),
    ("MOVM", "Transposes a matrix over the registers of the warp."),
    ("P2R|R2P", "Copies predicates into a register, or back."),
    ("CS2R", "Reads a special register; of SRZ it sets registers to zero."),
    ("S2R", "Reads a special register, such as the number of the thread or block.", "ds"),
    ("S2UR", "Reads a special register into a uniform one.", "ds"),
    ("R2UR", "Copies a register into a uniform one, which all threads of the warp share."),
    ("I2FP?", "Converts an integer to floating point."),
    ("F2I", "Converts floating point to an integer."),
    ("F2FP?", "Converts between widths of floating point."),
    ("F2IP|I2IP?|FRND", "Converts or rounds."),
    ("LDG", "Loads from the memory of the GPU.", "da"),
    ("STG", "Stores to the memory of the GPU.", "as"),
    ("LDS", "Loads from shared memory.", "da"),
    ("STS", "Stores to shared memory.", "as"),
    ("LDSM", "Loads matrices of 8 × 8 from shared memory: the threads of the warp give the rows' addresses.", "da"),
    ("STSM", "Stores matrices of 8 × 8 to shared memory.", "as"),
    ("LDL", "Loads from the thread's own memory, such as spilled registers.", "da"),
    ("STL", "Stores to the thread's own memory, such as spilled registers.", "as"),
    ("LDC", "Loads a constant, such as an argument of the kernel.", "da"),
    ("U?LDC", "Loads a constant, such as an argument of the kernel, for the whole warp.", "da"),
    ("LDCU", "Loads a constant, such as an argument of the kernel, for the whole warp.", "da"),
    ("LD", "Loads from a generic address.", "da"),
    ("ST", "Stores to a generic address.", "as"),
    ("LDGSTS", "Copies from the memory of the GPU to shared memory while the thread goes on.", "aa"),
    ("LDGDEPBAR", "Makes the copies begun so far a group."),
    ("DEPBAR", "Waits until at most so many operations of a barrier are not done.", "i"),
    ("UBLKCP|UTMA\\w+", "Copies a block of memory, by the copy engine, while the thread goes on."),
    ("SYNCS", "Works with a barrier in shared memory."),
    ("ATOMG?|ATOMS", "Changes memory in one step, as other threads see it, and returns what was there.", "dasc"),
    ("REDG?", "Changes memory in one step, as other threads see it.", "as"),
    ("REDUX", "Combines a value over the threads of the warp."),
    ("CCTL[LT]?|ERRBAR|MEMBAR|FENCE", "Orders memory accesses, or manages a cache.", "i"),
    ("BAR", "Waits for the other threads of the block.", "i"),
    ("SHFL", "Reads a register of another thread of the warp.", "dds"),
    ("VOTEU?", "Combines a predicate over the threads of the warp.", "ddc"),
    ("MATCH", "Finds threads of the warp with the same value."),
    ("ELECT", "Chooses one thread of the warp."),
    ("BRA|BRX|JMP|JMX", "Jumps.", "t"),
    ("BSSY", "Names the place where the threads of the warp, parted by a condition, meet again.", "st"),
    ("BSYNC", "Waits until the threads of the warp, parted by a condition, have met.", "s"),
    ("BREAK|BMOV", "Changes which threads meet again.", "s"),
    ("CALL", "Calls a function.", "t"),
    ("RET", "Returns to the caller.", "s"),
    ("EXIT", "Ends the thread."),
    ("KILL|BPT", "Stops the thread."),
    ("NANOSLEEP|YIELD", "Lets other warps go first."),
    ("NOP", "Does nothing."),
    ("ACQBULK|PREEXIT|CGAERRBAR|UCGABAR\\w*", "Orders kernels, or the blocks of a cluster."),
    ("USETMAXREG", "Gives registers up, or asks for more.", "i"),
    (
        "U(?:IADD3|IMAD|ISETP|LEA|LOP3|MOV|SEL|SHF|PRMT|BMSK|SGXT|FLO|POPC|BREV|PLOP3|P2UR|R2UR|IMNMX|VIMNMX|F2FP|FADD|FMUL|FFMA|FSETP|IABS|SHL|SHR)",
        "As the instruction without U, once for the whole warp: its registers are the same for all threads.",
    ),
    ("TEX|TLD4?|TXD|TXQ|SULD|SUST|SUATOM", "Reads or writes a texture or surface."),
)

_MODIFIERS = {
    # Widths and types
    r"8|16|32|64|128": "{0} bits",
    r"U8|U16|U32|U64": "unsigned, {0}",
    r"S8|S16|S32|S64": "signed, {0}",
    r"F16|F32|F64|BF16|TF32": "{0}",
    r"F16x2|BF16_V2|BF16x2|F32x2": "two at once",
    r"BF": "bfloat16",
    r"X\d?": "with the carry of the lower half",
    r"WIDE": "to 64 bits",
    r"HI": "the high half",
    r"LO": "the low half",
    r"SX32": "with the sign of 32 bits",
    r"L|R": "{0}",
    r"W": "counts modulo the width",
    r"P64": "an address of 64 bits",
    r"E": "an address of 64 bits",
    r"LUT": "by a table of truth",
    r"CONSTANT": "through the cache for data that no one writes",
    # Rounding
    r"RN": "rounded to the nearest",
    r"RM": "rounded down",
    r"RP": "rounded up",
    r"RZ": "rounded toward zero",
    r"FTZ": "subnormal numbers become zero",
    r"SAT": "limited to between 0 and 1",
    r"TRUNC": "rounded toward zero",
    r"FLOOR": "rounded down",
    r"CEIL": "rounded up",
    r"NTZ": "NaN becomes zero",
    r"NAN": "NaN wins",
    r"RELU": "negative results become zero",
    # Functions
    r"EX2": "power of two",
    r"RCP|RCP64H": "reciprocal",
    r"RSQ|RSQ64H": "reciprocal square root",
    r"SQRT": "square root",
    r"LG2": "logarithm to the base of two",
    r"SIN": "sine",
    r"COS": "cosine",
    r"TANH": "hyperbolic tangent",
    # Comparisons and combinations
    r"EQ": "equal",
    r"NE": "not equal",
    r"LT": "less",
    r"LE": "less or equal",
    r"GT": "greater",
    r"GE": "greater or equal",
    r"NEU|EQU|LTU|LEU|GTU|GEU": "{0}: true also of NaN",
    r"NUM": "neither is NaN",
    r"AND": "and",
    r"OR": "or",
    r"XOR": "exclusive or",
    r"EX": "with the result of the lower half",
    r"ANY": "true for any",
    r"ALL": "true for all",
    r"ADD": "added",
    r"MIN": "the smallest",
    r"MAX": "the largest",
    r"EXCH": "exchanged",
    r"CAS": "replaced if equal",
    r"INC": "counted up",
    r"DEC": "counted down",
    r"SUM": "summed",
    r"POPC": "counted",
    # Warps, matrices and units
    r"DOWN": "of the thread that is so much further",
    r"UP": "of the thread that is so much before",
    r"BFLY": "of the thread with the number's bits flipped",
    r"IDX": "of the thread with that number",
    r"SYNC": "waits",
    r"ARV": "says that it is here",
    r"RED": "combines",
    r"DEFER_BLOCKING": "warps that are here let others go first",
    r"(16|8)(8)(4|8|\d\d)": "a shape of {} × {} × {}",
    r"\d+x\d+x\d+": "a shape of {0}",
    r"M88|MT88": "matrices of 8 × 8, MT transposed",
    r"1|2|4": "{0} at once",
    r"MMA": "on the unit of the tensor cores",
    r"MOV|SHL|IADD": "{0}",
    r"COL|ROW": "{0}",
    r"SP": "half of the factors are zero",
    r"H0_H0|H1_H1|H0_NH1": "which half",
    r"REL": "relative to this instruction",
    r"NOINC": "leaves the return address",
    r"NODEC": "a return address in a register",
    r"ABS": "an absolute address",
    # Memories
    r"STRONG": "ordered",
    r"WEAK": "not ordered",
    r"SYS": "as the whole system sees it",
    r"GPU": "as the GPU sees it",
    r"CTA": "as the block sees it",
    r"SM": "as the multiprocessor sees it",
    r"EF": "used once",
    r"EL": "used for the last time",
    r"LTC\d+B": "fetched into L2 with so many bytes",
    r"BYPASS": "past L1",
    r"IVALL|IVALLP": "all lines become invalid",
    r"ZFILL": "the rest becomes zero",
    r"DEPBAR|SC|ACQ|ALL": "ordered",
    r"U": "uniform",
    r"UNI": "all threads alike",
    r"CONV": "threads have met",
    r"DIV": "threads have parted",
    r"ARRIVE|TRANS64|A1T0|A0TR|PHASECHK|TRYWAIT|CCTL|ART0|A1TR": "of a barrier in shared memory",
    r"PAR|NOSLEEP": "{0}",
}

_SPECIAL = {
    "SR_TID": "number of the thread in its block",
    "SR_CTAID": "number of the block",
    "SR_LANEID": "number of the thread in its warp",
}


def _operand(text: str) -> str:
    """Return what an operand is; empty if its text says it all."""
    bare = text.replace(".reuse", "")
    reused = "; kept for the next instruction" if bare != text else ""
    if match := re.match(r"-?\|?c\[(\w+)\]\[(\w+)\]", bare):
        return f"constant at {match[2]} of bank {match[1]}, such as an argument"
    if match := re.match(r"(?:desc\[\w+\])?\[(.*)\]", bare):
        inner = re.sub(r"\.(64|X\d+|U32)\b", "", match[1])
        return "memory: " + re.sub(r"-?0x[0-9a-f]+", lambda found: number(found[0]), inner).replace("+", " + ")
    sign = "with the sign changed" if bare.startswith("-") else ""
    size = "absolute value" if "|" in bare else ""
    register = bare.strip("-|~!")
    words = [word for word in (size, sign) if word]
    if register in ("RZ", "URZ", "SRZ"):
        words.append("always zero")
    elif register in ("PT", "UPT"):
        words.append("never" if bare.startswith("!") else "always true")
    elif re.match(r"UR\d", register):
        words.append("the same for all threads of the warp")
    elif re.match(r"U?P\d", register):
        words.append("predicate" + (", negated" if bare.startswith("!") else ""))
    elif match := re.match(r"(SR_\w+?)(?:\.([XYZ]))?$", register):
        words.append(_SPECIAL.get(match[1], "special register") + (f", along {match[2].lower()}" if match[2] else ""))
    elif re.match(r"-?(?:0x[\da-f]+|\d+)$", bare):
        return f"the number {number(bare)}"
    return ", ".join(words) + reused if words else reused.lstrip("; ")


def control_words(columns: str) -> list[tuple[str, str]]:
    """Return what the columns before an instruction say of its scheduling: waits, read, write, yield, cycles."""
    waits, read, write, yields, stall = columns.split()
    said = []
    if barriers := waits.replace("-", ""):
        said.append((waits, f"waits for barrier{'s' * (len(barriers) > 1)} {' and '.join(barriers)}"))
    if read != "-":
        said.append((f"rd {read}", f"barrier {read} opens when the operands have been read"))
    if write != "-":
        said.append((f"wr {write}", f"barrier {write} opens when the result is written"))
    if yields != "-":
        said.append((yields, "the scheduler prefers another warp next"))
    cycles = f"{stall} cycle{'s' * (stall != '1')} later, at the earliest"
    return [*said, (f"cy {stall}", f"the warp’s next instruction is issued {cycles}")]


SASS = InstructionSet(
    "sass",
    _ROWS,
    "ds",
    modifiers=_MODIFIERS,
    operand=_operand,
    line=r"\s+(?:/\*(?P<control>.*?)\*/\s*)?(?P<guard>@!?U?P\w+\s+)?(?P<name>[A-Z][\w.]*)\s*(?P<rest>.*?);?\s*",
)
