"""Instructions of RISC-V with the extensions M, A, F, D, V and bit manipulation.  The destination is first."""

from __future__ import annotations

import re

from app.instructions.operands import number, total
from app.instructions.rules import InstructionSet, Row

_FORM = {
    "vv": "two vectors", "vx": "a vector and an integer register", "vf": "a vector and a floating-point register",
    "vi": "a vector and a constant", "wv": "a wide and a narrow vector", "wx": "a wide vector and an integer register",
    "wf": "a wide vector and a floating-point register", "wi": "a wide vector and a constant", "v": "a vector",
    "vvm": "two vectors, with a mask", "vxm": "a vector and an integer register, with a mask",
    "vfm": "a vector and a floating-point register, with a mask", "vim": "a vector and a constant, with a mask",
    "vs": "a vector and a first number", "mm": "two masks", "m": "a mask", "w": "a wide vector",
}  # fmt: skip
_TYPE = {
    "s": "float32", "d": "float64", "h": "float16", "w": "32-bit integer", "wu": "unsigned 32-bit integer",
    "l": "64-bit integer", "lu": "unsigned 64-bit integer", "x": "integer register", "bf16": "bfloat16",
}  # fmt: skip
_CONDITION = {
    "eq": "equal", "ne": "not equal", "lt": "less", "ge": "greater or equal", "gt": "greater", "le": "less or equal",
    "ltu": "less (unsigned)", "geu": "greater or equal (unsigned)", "gtu": "greater (unsigned)",
    "leu": "less or equal (unsigned)", "eqz": "zero", "nez": "not zero", "ltz": "negative", "gez": "not negative",
    "gtz": "positive", "lez": "not positive",
}  # fmt: skip
_SIZE = {
    "b": "a byte", "h": "16 bits", "w": "32 bits", "d": "64 bits", "bu": "a byte, widened with zeros,",
    "hu": "16 bits, widened with zeros,", "wu": "32 bits, widened with zeros,",
}  # fmt: skip
_ARITHMETIC = {
    "add": "Adds",
    "sub": "Subtracts",
    "rsub": "Subtracts the first from the second source:",
    "mul": "Multiplies",
    "div": "Divides",
    "rdiv": "Divides the second by the first source:",
    "min": "Smaller of",
    "max": "Larger of",
    "minu": "Smaller (unsigned) of",
    "maxu": "Larger (unsigned) of",
    "sqrt": "Square root of",
    "divu": "Divides (unsigned)",
    "rem": "Remainder of",
    "remu": "Remainder (unsigned) of",
    "and": "Bitwise and of",
    "or": "Bitwise or of",
    "xor": "Bitwise exclusive or of",
    "not": "Complement of",
    "mulh": "High halves of the products of",
    "mulhu": "High halves of the products (unsigned) of",
    "mulhsu": "High halves of the products (signed by unsigned) of",
    "sll": "Shifts left",
    "srl": "Shifts right, filling with zeros,",
    "sra": "Shifts right, filling with the sign,",
    "sgnj": "Copies the sign of the second to the first of",
    "sgnjn": "Copies the opposite sign of the second to the first of",
    "sgnjx": "Multiplies the signs of",
    "neg": "Changes the sign of",
    "abs": "Absolute value of",
    "sadd": "Adds, saturating,",
    "ssub": "Subtracts, saturating,",
    "saddu": "Adds (unsigned), saturating,",
    "ssubu": "Subtracts (unsigned), saturating,",
    "adc": "Adds, with carry,",
    "sbc": "Subtracts, with borrow,",
    "rec7": "Approximate reciprocal, 7 bits, of",
    "rsqrt7": "Approximate reciprocal square root, 7 bits, of",
    "aadd": "Averages",
    "aaddu": "Averages (unsigned)",
    "mv": "Copies",
    "class": "Kind (NaN, infinite, zero, …) of",
    "smul": "Multiplies fractions, saturating,",
    "andn": "Bitwise and with the complement of",
}
_MACC = {
    "macc": "destination + second × first", "nmacc": "−(second × first) − destination",
    "msac": "second × first − destination", "nmsac": "destination − second × first",
    "madd": "destination × first + second", "nmadd": "−(destination × first) − second",
    "msub": "destination × first − second", "nmsub": "second − destination × first",
}  # fmt: skip
_FMA = {
    "madd": "first × second + third source", "msub": "first × second − third source",
    "nmadd": "−(first × second) − third source", "nmsub": "−(first × second) + third source",
}  # fmt: skip
_REDUCTION = {
    "sum": "Sums", "usum": "Sums in any order", "osum": "Sums in order", "max": "Largest of", "min": "Smallest of",
    "maxu": "Largest (unsigned) of", "minu": "Smallest (unsigned) of", "and": "Bitwise and of", "or": "Bitwise or of",
    "xor": "Bitwise exclusive or of",
}  # fmt: skip

_ROWS: tuple[Row, ...] = (
    # Vectors
    (
        "vsetvli",
        "Sets how many elements the next vector instructions work on, at most as many as asked for, and their width.",
        "dsi",
    ),
    ("vsetivli", "Sets how many elements the next vector instructions work on, a constant, and their width.", "dsi"),
    ("vsetvl", "Sets how many elements the next vector instructions work on, and their width, from registers."),
    ("vle(?P<bits>\\d+)(?:ff)?\\.v", "Loads a vector of {bits}-bit elements from consecutive addresses.", "da"),
    ("vlse(?P<bits>\\d+)\\.v", "Loads a vector of {bits}-bit elements, each a stride in bytes after the last.", "das"),
    ("vl[uo]xei(?P<bits>\\d+)\\.v", "Loads each element from an address of its own; offsets have {bits} bits.", "das"),
    ("vl(?:s?seg|[uo]xseg)\\d+e\\w+\\.v", "Loads structures, and spreads their members over registers.", "da"),
    ("vl(?P<count>\\d+)re?\\d*\\.v", "Loads {count} whole registers.", "da"),
    ("vlm\\.v", "Loads a mask.", "da"),
    ("vse(?P<bits>\\d+)\\.v", "Stores a vector of {bits}-bit elements to consecutive addresses.", "sa"),
    ("vsse(?P<bits>\\d+)\\.v", "Stores a vector of {bits}-bit elements, each a stride in bytes after the last.", "sas"),
    ("vs[uo]xei(?P<bits>\\d+)\\.v", "Stores each element to an address of its own; offsets have {bits} bits.", "sas"),
    ("vs(?:s?seg|[uo]xseg)\\d+e\\w+\\.v", "Stores the elements of registers as the members of structures.", "sa"),
    ("vs(?P<count>\\d+)r\\.v", "Stores {count} whole registers.", "sa"),
    ("vsm\\.v", "Stores a mask.", "sa"),
    ("vf<macc>\\.<form>", "Fused multiply-add of lanes of {form}, rounded once: {macc}.", "xs"),
    ("vfw<macc>\\.<form>", "Fused multiply-add of lanes to twice their width, rounded once: {macc}.", "xs"),
    ("v<macc>\\.<form>", "Multiplies integer lanes and adds, {form}: {macc}.", "xs"),
    (
        "vwmacc(?:u|su|us)?\\.<form>",
        "Multiplies integer lanes to twice their width, and adds them to the destination.",
        "xs",
    ),
    ("v(?:w?red)<reduction>\\.vs", "{reduction} all lanes and a first number.", "dss"),
    ("vfw?red<reduction>\\.vs", "{reduction} all floating-point lanes and a first number.", "dss"),
    (
        "vfw?cvt(?:\\.rtz)?\\.(?P<to>\\w+)\\.(?P<from>\\w+)\\.[vw]",
        "Converts lanes between floating point and integers, or to twice their width.",
    ),
    ("vfncvt\\S*", "Converts lanes to half their width."),
    ("vfw<arithmetic>\\.<form>", "{arithmetic} floating-point lanes of {form}, to twice their width."),
    ("vf<arithmetic>\\.<form>", "{arithmetic} floating-point lanes of {form}."),
    ("vmf<condition>\\.<form>", "Compares floating-point lanes of {form}, {condition}, into a mask."),
    ("vms<condition>\\.<form>", "Compares integer lanes of {form}, {condition}, into a mask."),
    (
        "vfmerge\\.vfm|vmerge\\.<form>",
        "Chooses lane by lane: the second source where the mask is 1, else the first.",
        "dssm",
    ),
    ("vmv\\.v\\.[vxi]|vfmv\\.v\\.f", "Copies a vector, or one value into every lane."),
    ("vmv\\.x\\.s|vfmv\\.f\\.s", "Takes the first lane into a register."),
    ("vmv\\.s\\.x|vfmv\\.s\\.f", "Puts a value into the first lane."),
    ("vmv(?P<count>\\d+)r\\.v", "Copies {count} whole registers."),
    ("v[sz]ext\\.vf(?P<factor>\\d)", "Widens lanes to {factor} times their width; s with their sign, z with zeros."),
    ("vw(?P<arithmetic>add|sub|mul)(?P<sign>u|su)?\\.<form>", "{arithmetic} lanes of {form}, to twice their width."),
    ("vwcvtu?\\.x\\.x\\.v", "Widens lanes to twice their width."),
    ("vn(?:sr[la])\\.<form>|vncvt\\.x\\.x\\.w", "Shifts lanes right, and narrows them to half their width."),
    ("vnclipu?\\.<form>|vssr[la]\\.<form>", "Shifts lanes right with rounding; vnclip narrows them, saturating."),
    ("v<arithmetic>\\.<form>", "{arithmetic} integer lanes of {form}."),
    ("vid\\.v", "Numbers the lanes from zero on.", "d"),
    ("viota\\.m", "Counts the ones of a mask before each lane."),
    ("vslide1?(?:up|down)\\.<form>|vfslide1(?:up|down)\\.vf", "Moves lanes up or down by a number of places."),
    ("vrgather(?:ei16)?\\.<form>", "Picks lanes by their numbers."),
    ("vcompress\\.vm", "Packs the lanes that a mask selects together."),
    ("vm(?P<logic>and|or|xor|nand|nor|xnor|andn|orn)\\.mm", "Bitwise {logic} of masks."),
    ("vm(?:mv|not)\\.m|vm(?:clr|set)\\.m", "Copies, complements, clears or sets a mask."),
    ("vcpop\\.m|vfirst\\.m|vms[bio]f\\.m", "Counts or finds the ones of a mask."),
    # Floating point
    ("f<fma>\\.<type>", "Fused multiply-add of {type}, rounded once: {fma}."),
    ("fl[hwdq]", "Loads a floating-point number.", "da"),
    ("fs[hwdq]", "Stores a floating-point number.", "sa"),
    ("f<condition>\\.<type>", "1 if {condition}, else 0, of {type}."),
    ("fcvt\\.<to>\\.<from>", "Converts {from} to {to}."),
    ("fmv\\.<to>\\.<from>", "Copies bits between an integer and a floating-point register."),
    ("f<arithmetic>\\.<type>", "{arithmetic} {type}."),
    ("fr?s?csr|f[sr]rmi?|fsflags\\w*|frflags", "Reads or writes the control register of floating-point arithmetic."),
    # Integers
    ("(?P<what>add|sub)(?P<word>i?w?)", "{what} integers{word}."),
    (
        "sh(?P<bits>[123])add(?:\\.uw)?",
        "Shifts the first source left by {bits}, and adds the second: an address in an array.",
    ),
    ("add\\.uw|slli\\.uw", "Adds or shifts an unsigned 32-bit integer."),
    ("neg(?P<word>w?)", "Changes the sign{word}."),
    ("mul(?P<word>w?)", "Multiplies integers{word}."),
    ("mulh(?:s?u)?", "High half of a product."),
    ("div(?P<sign>u?)(?P<word>w?)", "Divides {sign} integers{word}, towards zero."),
    ("rem(?P<sign>u?)(?P<word>w?)", "Remainder of a division of {sign} integers{word}."),
    ("(?P<logic>and|or|xor)i?", "Bitwise {logic}."),
    ("andn|orn|xnor|not", "Bitwise operation with a complement."),
    ("sll(?P<word>i?w?)", "Shifts bits left{word}; each place doubles the number."),
    ("srl(?P<word>i?w?)", "Shifts bits right{word}, filling with zeros."),
    ("sra(?P<word>i?w?)", "Shifts bits right{word}, filling with the sign."),
    ("ro[lr]i?w?", "Rotates bits."),
    ("slt(?:i?u?)|sltz|sgtz", "1 if less, else 0; u compares unsigned."),
    ("seqz", "1 if zero, else 0."),
    ("snez", "1 if not zero, else 0."),
    ("(?P<arithmetic>min|max|minu|maxu)", "{arithmetic} two integers."),
    ("(?:sext|zext)\\.[bhw]", "Widens an integer; s with its sign, z with zeros."),
    ("(?:clz|ctz|cpop)w?", "Counts leading zeros, trailing zeros, or ones."),
    ("b(?:set|clr|inv|ext)i?", "Sets, clears, flips or takes out one bit."),
    ("rev8|orc\\.b|brev8", "Reverses bytes or bits."),
    ("czero\\.eqz|czero\\.nez", "Zero if the second source is (nez: is not) zero, else the first."),
    ("li", "Sets a register to a constant."),
    ("lui", "Sets the upper 20 bits of a register; the rest is zero.", "di"),
    ("auipc|la|lla", "Address of a symbol, relative to this instruction."),
    ("mv", "Copies a register."),
    ("l(?P<size>[bhwd]u?)", "Loads {size} from memory.", "da"),
    ("s(?P<size>[bhwd])", "Stores {size} to memory.", "sa"),
    ("amo(?P<what>\\w+)\\.[wd](?:\\.\\w+)?", "Changes memory in one step ({what}), as other threads see it.", "dsa"),
    ("lr\\.[wd]\\S*", "Loads, and watches the address for a store of another thread.", "da"),
    ("sc\\.[wd]\\S*", "Stores, unless another thread has stored since; 0 if it did.", "dsa"),
    # Control
    ("b<condition>", "Jumps if {condition}.", "sst"),
    ("j|jr", "Jumps.", "t"),
    ("jal|jalr|call", "Calls a function.", "t"),
    ("tail", "Goes on in another function, which returns to the caller.", "t"),
    ("ret", "Returns to the caller."),
    ("csrr", "Reads a control register, such as the length of vectors in bytes, vlenb."),
    ("csrr?[wsc]i?|csrr[wsc]i?", "Writes a control register."),
    ("fence(?:\\.\\w+)?", "Orders memory accesses.", "i"),
    ("pause", "Tells the processor that a loop waits."),
    ("prefetch\\.\\w", "Asks for a cache line ahead of time.", "a"),
    ("nop", "Does nothing; keeps loops aligned."),
    ("unimp|ebreak|ecall", "Stops: this place is never reached; ecall asks the operating system."),
)


def _operand(text: str) -> str:
    """Return what an operand is; empty if its text says it all."""
    if match := re.match(r"(.*)\((\w+)\)$", text):
        stack = ", on the stack" if match[2] == "sp" else ""
        return f"memory: {total([match[2], number(match[1]) if match[1] not in ('', '0') else ''])}{stack}"
    if re.match(r"-?(?:0x)?[\da-f]+$", text) and re.match(r"-?\d", text):
        return f"the number {number(text)}"
    if text == "v0.t":
        return "only the lanes that v0 selects"
    if text == "zero":
        return "always zero"
    if match := re.match(r"e(\d+)$", text):
        return f"elements of {match[1]} bits"
    if match := re.match(r"mf?(\d)$", text):
        return f"{match[1]} registers as one vector" if text[1] != "f" else f"one {match[1]}th of a register"
    named = {"ta": "the lanes behind the last may be overwritten", "tu": "the lanes behind the last stay",
             "ma": "masked lanes may be overwritten", "mu": "masked lanes stay", "vlenb": "bytes of a vector register",
             "sp": "pointer to the stack", "ra": "address to return to"}  # fmt: skip
    if text in named:
        return named[text]
    return "vector" if re.match(r"v\d+$", text) else ""


RISCV = InstructionSet(
    "riscv64",
    _ROWS,
    "ds",
    {
        "form": _FORM,
        "type": _TYPE,
        "to": _TYPE,
        "from": _TYPE,
        "condition": _CONDITION,
        "size": _SIZE,
        "arithmetic": _ARITHMETIC,
        "macc": _MACC,
        "fma": _FMA,
        "reduction": _REDUCTION,
        "word": {"w": " of 32 bits", "iw": " of 32 bits, one a constant", "i": ", one a constant", "": ""},
        "sign": {"u": "unsigned", "": "signed"},
        "what": {"add": "Adds", "sub": "Subtracts"},
        "logic": {"xor": "exclusive or"},
    },
    operand=_operand,
)
