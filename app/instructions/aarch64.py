"""Instructions of AArch64: NEON, SVE and the general ones.  The destination is first."""

from __future__ import annotations

import re

from app.instructions.operands import number, total
from app.instructions.rules import InstructionSet, Row

_CONDITION = {
    "eq": "equal", "ne": "not equal", "lt": "less (signed)", "le": "less or equal (signed)", "gt": "greater (signed)",
    "ge": "greater or equal (signed)", "lo": "lower (unsigned)", "ls": "lower or same (unsigned)",
    "hi": "higher (unsigned)", "hs": "higher or same (unsigned)", "mi": "negative", "pl": "not negative",
    "vs": "overflow or unordered", "vc": "no overflow", "cs": "carry", "cc": "no carry", "al": "always",
    "none": "no lane is active", "any": "any lane is active", "first": "the first lane is active",
    "nfrst": "the first lane is not active", "last": "the last lane is active", "nlast": "the last lane is not active",
}  # fmt: skip
_ACCESS = {
    "": "", "b": "a byte, widened with zeros,", "h": "16 bits, widened with zeros,", "w": "32 bits",
    "sb": "a byte, widened with its sign,", "sh": "16 bits, widened with its sign,",
    "sw": "32 bits, widened with its sign,",
}  # fmt: skip
_SIGN = {"s": "signed", "u": "unsigned", "": "", "f": "floating-point"}
_ARITHMETIC = {
    "add": "Adds", "sub": "Subtracts", "mul": "Multiplies", "div": "Divides", "divr": "Divides, second by first,",
    "subr": "Subtracts, first from second,", "nmul": "Multiplies, with the sign changed,", "max": "Larger of",
    "min": "Smaller of", "maxnm": "Larger of (a number wins over NaN)", "minnm": "Smaller of (a number wins over NaN)",
    "abs": "Absolute value of", "neg": "Changes the sign of", "sqrt": "Square root of", "abd": "Absolute difference of",
    "recpe": "Approximate reciprocal of", "recps": "Step of Newton's method for the reciprocal of",
    "rsqrte": "Approximate reciprocal square root of", "rsqrts": "Step of Newton's method for the reciprocal root of",
    "scale": "Multiplies by powers of two", "recpx": "Approximate exponent of the reciprocal of",
    "mulx": "Multiplies (zero by infinity is two)",
}  # fmt: skip
_ROUNDING = {
    "n": "to the nearest, ties to even", "a": "to the nearest, ties away from zero", "z": "toward zero",
    "m": "down", "p": "up", "i": "as the control register says", "x": "as the control register says",
}  # fmt: skip
_LOGIC = {
    "and": "and", "orr": "or", "eor": "exclusive or", "bic": "and with the complement of the second source",
    "orn": "or with the complement of the second source", "eon": "exclusive or with the complement",
    "nand": "complement of and", "nor": "complement of or", "mvn": "complement", "not": "complement",
}  # fmt: skip
_LANE = {
    "eq": "equal", "ge": "greater or equal (signed)", "gt": "greater (signed)", "hi": "higher (unsigned)",
    "hs": "higher or same (unsigned)", "le": "less or equal (signed)", "lt": "less (signed)", "ne": "not equal",
    "lo": "lower (unsigned)", "ls": "lower or same (unsigned)", "tst": "with a bit in common", "uo": "unordered",
}  # fmt: skip
_COUNT = {"b": "bytes", "h": "16-bit lanes", "w": "32-bit lanes", "d": "64-bit lanes"}

_ROWS: tuple[Row, ...] = (
    # Products
    ("fmla", "Fused multiply-add of lanes, rounded once: destination + first × second source.", "xs"),
    ("fmls", "Fused multiply-subtract of lanes, rounded once: destination − first × second source.", "xs"),
    ("fmad", "Fused multiply-add of lanes, rounded once: destination × first source + second source.", "xms"),
    ("fmsb", "Fused multiply-subtract of lanes, rounded once: second source − destination × first source.", "xms"),
    ("fnml[as]|fnma?s?[db]", "Fused multiply-add of lanes with signs changed, rounded once.", "xms"),
    ("fmadd", "Fused multiply-add, rounded once: first × second + third source."),
    ("fmsub", "Fused multiply-subtract, rounded once: third − first × second source."),
    ("fnmadd", "Fused multiply-add, rounded once: −(first × second) − third source."),
    ("fnmsub", "Fused multiply-subtract, rounded once: first × second − third source."),
    ("fml[as]l[bt]?2?", "Fused multiply-add of float16 lanes into float32.", "xs"),
    ("bfml[as]l[bt]", "Fused multiply-add of bfloat16 lanes into float32.", "xs"),
    ("bfdot", "Multiplies bfloat16 pairs, and adds both products to a float32 lane.", "xs"),
    (
        "(?:us|su|s|u)dot",
        "Multiplies bytes (of SVE also 16-bit lanes), and adds each four products to a wider lane.",
        "xs",
    ),
    ("(?:us|su|s|u|bf|f)mmla", "Product of two small matrices, added to the destination.", "xs"),
    (
        "(?P<sign>[su])mlal[bt]?2?",
        "Multiplies {sign} lanes to twice their width, and adds them to the destination.",
        "xs",
    ),
    (
        "(?P<sign>[su])mlsl[bt]?2?",
        "Multiplies {sign} lanes to twice their width, and subtracts them from the destination.",
        "xs",
    ),
    ("(?P<sign>[su])mull[bt]?2?", "Multiplies {sign} integers to twice their width."),
    ("(?P<sign>[su])maddl", "Multiplies {sign} 32-bit integers to 64 bits, and adds the third source."),
    ("(?P<sign>[su])msubl", "Multiplies {sign} 32-bit integers to 64 bits, and subtracts them from the third source."),
    ("(?P<sign>[su])mnegl", "Multiplies {sign} 32-bit integers to 64 bits, and changes the sign."),
    ("(?P<sign>[su])mulh", "Multiplies {sign} integers and keeps the high half."),
    ("sqr?dmulh", "Multiplies lanes and keeps the doubled high halves, saturating."),
    ("sqr?dmla?s?l?h?2?", "Multiplies lanes, doubles, and adds, saturating.", "xs"),
    ("mla|mls", "Multiplies integer lanes, and adds the products to the destination (mls subtracts them).", "xs"),
    ("mad|msb", "Multiplies integer lanes by the destination, and adds (msb: subtracts) the products.", "xms"),
    ("madd", "Multiplies integers and adds: first × second + third source."),
    ("msub", "Multiplies integers and subtracts: third − first × second source; with a division before, a remainder."),
    ("mneg", "Multiplies integers and changes the sign."),
    ("mul", "Multiplies integers, or lanes of integers."),
    ("(?P<sign>[su])divr?", "Divides {sign} integers, towards zero."),
    # Floating point
    ("fcmpe?", "Compares two floating-point numbers and sets the flags.", "s"),
    (
        "fccmpe?",
        "Compares two floating-point numbers if the condition holds, else sets the flags to the number.",
        "ssic",
    ),
    ("fcsel", "First source if the condition holds, else the second.", "dssc"),
    ("fcm<lane>|fac(?P<than>ge|gt|le|lt)", "Compares floating-point lanes, {lane}, into a mask."),
    ("fcvt(?P<rounding>[nazmp])(?P<sign>[su])", "Converts floating point to a {sign} integer, rounding {rounding}."),
    ("fcvtx?[ln]?[tn]?2?|bfcvtn?t?2?", "Converts between widths of floating point."),
    ("(?P<sign>[su])cvtf", "Converts a {sign} integer to floating point."),
    ("frint(?P<rounding>[nazmpix])", "Rounds to an integer, {rounding}."),
    ("frint(?:32|64)[xz]", "Rounds to an integer of 32 or 64 bits."),
    ("f(?P<arithmetic>add|mul|max|min|maxnm|minnm)p", "Pairwise: {arithmetic} neighbouring floating-point lanes."),
    ("f(?P<arithmetic>add|max|min|maxnm|minnm)v", "Over all lanes: {arithmetic} floating-point numbers."),
    ("fadda", "Adds all lanes in order, one after the other.", "dms"),
    ("f<arithmetic>", "{arithmetic} floating-point numbers."),
    ("fmov", "Copies a floating-point value or bits between registers, or sets it to a constant."),
    ("fcadd|fcmla", "Adds or multiplies complex numbers.", "xs"),
    ("fexpa|ftmad|ftsmul|ftssel", "Helps to compute an exponential or a sine."),
    # Lanes
    ("dup", "Copies one value into every lane."),
    ("index", "Fills lanes with a row of numbers: start, start + step and so on."),
    ("cpy", "Copies a value into the active lanes.", "dms"),
    ("movi|mvni", "Sets every lane to a constant."),
    ("ins", "Puts a value into one lane.", "ws"),
    ("[us]mov", "Takes one lane into a general register."),
    ("addv", "Sums all lanes."),
    ("[us]addv", "Sums all active lanes.", "dms"),
    ("(?P<sign>[us])(?:add|sub)l[bt]?2?", "Adds or subtracts {sign} lanes to twice their width."),
    ("(?P<sign>[us])(?:add|sub)w[bt]?2?", "Adds {sign} lanes to, or subtracts them from, lanes of twice their width."),
    ("(?P<sign>[us])addlv", "Sums all {sign} lanes to a wider number."),
    ("(?P<sign>[us])a(?:ddl|da)lp", "Adds {sign} neighbours to wider lanes."),
    ("(?P<sign>[us])addlp", "Adds {sign} neighbours to lanes of twice their width."),
    ("(?P<sign>[us])adalp", "Adds {sign} neighbours to wider lanes of the destination.", "xs"),
    ("addp", "Adds neighbouring lanes."),
    ("(?P<sign>[us])(?P<arithmetic>max|min)", "{arithmetic} {sign} integers, lane by lane."),
    ("(?P<sign>[us])(?P<arithmetic>max|min)p", "Pairwise: {arithmetic} neighbouring {sign} lanes."),
    ("(?P<sign>[us])(?P<arithmetic>max|min)v", "{arithmetic} all {sign} lanes."),
    ("(?P<sign>[us])ab[ad]l?[bt]?2?", "Absolute differences of {sign} lanes; aba adds them to the destination."),
    ("(?P<sign>[us])q(?P<arithmetic>add|sub)", "{arithmetic} {sign} lanes, saturating."),
    ("(?P<sign>[us])r?h(?P<arithmetic>add|sub)", "{arithmetic} {sign} lanes and halves."),
    ("cm<lane>|cmp<lane>", "Compares integer lanes, {lane}, into a mask."),
    ("(?P<sign>[us])shll[bt]?2?", "Widens {sign} lanes, and shifts them left."),
    ("(?P<sign>[us])xtl2?", "Widens {sign} lanes to twice their width."),
    ("xtn2?", "Narrows lanes to half their width."),
    ("[us]qxtu?n[bt]?2?", "Narrows lanes to half their width, saturating."),
    ("r?shrn[bt]?2?", "Shifts lanes right, and narrows them to half their width."),
    ("[us]q(?:r?shru?n)[bt]?2?", "Shifts lanes right, and narrows them to half their width, saturating."),
    ("shl", "Shifts lanes left."),
    ("shll2?", "Widens lanes, and shifts them left by their width."),
    ("(?P<sign>[us])r?shr", "Shifts {sign} lanes right."),
    ("(?P<sign>[us])r?sra", "Shifts {sign} lanes right, and adds them to the destination.", "xs"),
    ("(?P<sign>[us])q?r?shlr?u?", "Shifts {sign} lanes left by counts of lanes; negative counts shift right."),
    ("s[lr]i", "Shifts lanes, and inserts them between the bits that stay.", "xs"),
    ("zip[12]", "Interleaves the lower (zip1) or upper (zip2) lanes of two registers."),
    ("uzp[12]", "Takes every even (uzp1) or odd (uzp2) lane of two registers."),
    ("trn[12]", "Takes the even (trn1) or odd (trn2) lanes of two registers by turns, as a transposition does."),
    ("rev(?:16|32|64|[bhwd])?", "Reverses the order of bytes or lanes."),
    ("ext", "Joins two registers and takes out one that begins at a byte."),
    ("splice|compact", "Packs active lanes together."),
    ("tb[lx]", "Picks bytes or lanes by their numbers from a table of registers."),
    ("bsl", "Chooses bits: where the destination is 1 from the first source, elsewhere from the second.", "xs"),
    ("bit", "Copies the bits of the first source where the second is 1.", "xs"),
    ("bif", "Copies the bits of the first source where the second is 0.", "xs"),
    ("sel", "Chooses lanes: active ones from the first source, others from the second.", "dms"),
    ("cnt", "Counts the ones of each lane."),
    # SVE
    ("ptrues?", "Makes all lanes active, or as many as a pattern says."),
    ("pfalse", "Makes no lane active."),
    (
        "while(?P<condition>lo|ls|lt|le|hi|hs|gt|ge)",
        "Makes lanes active while a counter is {condition} than a bound: guards the tail of a loop.",
    ),
    ("cnt<count>", "How many {count} a vector register has."),
    ("(?P<what>inc|dec)<count>", "Adds or subtracts how many {count} a vector register has.", "x"),
    ("cntp", "Counts the active lanes."),
    ("(?:inc|dec)p", "Adds or subtracts the number of active lanes.", "xm"),
    ("rdvl", "Multiple of the length of a vector register, in bytes."),
    ("add[vp]l", "Adds a multiple of the length of a vector (or mask) register in bytes."),
    ("punpk(?:lo|hi)", "Widens half a mask."),
    ("[us]unpk(?:lo|hi)", "Widens the lanes of half a register."),
    ("movprfx", "Copies a register for the next instruction, which overwrites it."),
    ("last[ab]|clast[ab]", "Takes the last active lane, or the one after it."),
    ("ptest", "Tests a mask and sets the flags.", "ms"),
    ("ld1r(?P<access>s?[bhwd])", "Loads one value into every active lane.", "dma"),
    ("ld1rq?(?P<access>[bhwd])", "Loads 128 bits, repeated through the register.", "dma"),
    ("ld(?:ff|nf|nt)?1(?P<access>s?[bhwd])", "Loads the active lanes.", "dma"),
    ("ld[234](?P<access>[bhwd])", "Loads structures, and spreads their members over registers.", "dma"),
    ("st(?:nt)?1(?P<access>[bhwd])", "Stores the active lanes.", "sma"),
    ("st[234](?P<access>[bhwd])", "Stores the lanes of registers as the members of structures.", "sma"),
    # Memory
    ("ld1", "Loads whole registers, or one lane, from consecutive addresses.", "da"),
    ("ld[234]", "Loads structures, and spreads their members over registers.", "da"),
    ("ld[1-4]r", "Loads one value into every lane.", "da"),
    ("st1", "Stores whole registers, or one lane, to consecutive addresses.", "sa"),
    ("st[234]", "Stores the lanes of registers as the members of structures.", "sa"),
    ("ldn?p(?:sw)?", "Loads two registers from consecutive addresses.", "dda"),
    ("stn?p", "Stores two registers to consecutive addresses.", "ssa"),
    ("ld(?:u|t)?r<access>", "Loads a register {access} from memory.", "da"),
    ("st(?:u|t)?r(?P<narrow>[bh]?)", "Stores a register to memory; b and h its lowest 8 or 16 bits.", "sa"),
    ("lda(?:x|p)?u?r[bh]?|ldxr[bh]?", "Loads, in order with later accesses.", "da"),
    ("stl(?:x|u)?r[bh]?|stxr[bh]?", "Stores, in order with earlier accesses.", "sa"),
    ("swp(?:al?|l)?[bh]?", "Exchanges a register with memory in one step, as other threads see it.", "sda"),
    ("casp?(?:al?|l)?[bh]?", "Replaces a value in memory if it equals the first register, in one step.", "xsa"),
    (
        "(?:ld|st)(?P<what>add|clr|eor|set|smax|smin|umax|umin)(?:al?|l)?[bh]?",
        "Changes memory in one step ({what}), as other threads see it.",
        "sda",
    ),
    ("prfu?m|prf[bhwd]", "Asks for a cache line ahead of time.", "ia"),
    ("d[ms]b|isb", "Orders memory accesses.", "i"),
    ("adrp", "Address of the page of 4 KiB in which a symbol lies; an offset follows."),
    ("adr", "Address of a symbol, or of lanes."),
    # Control
    ("b\\.<condition>", "Jumps if {condition}.", "t"),
    ("cbz", "Jumps if the register is zero.", "st"),
    ("cbnz", "Jumps if the register is not zero.", "st"),
    ("tbz", "Jumps if the bit is zero.", "sit"),
    ("tbnz", "Jumps if the bit is one.", "sit"),
    ("b", "Jumps.", "t"),
    ("br", "Jumps to the address in a register.", "t"),
    ("blr?", "Calls a function; the address to return to is in x30.", "t"),
    ("ret", "Returns to the caller."),
    ("csel", "First source if the condition holds, else the second.", "dssc"),
    ("csinc", "First source if the condition holds, else the second plus one.", "dssc"),
    ("csinv", "First source if the condition holds, else the complement of the second.", "dssc"),
    ("csneg", "First source if the condition holds, else the second with its sign changed.", "dssc"),
    ("cset", "1 if the condition holds, else 0.", "dc"),
    ("csetm", "All ones if the condition holds, else 0.", "dc"),
    ("cinc", "The source plus one if the condition holds, else the source.", "dsc"),
    ("cinv", "Complement of the source if the condition holds, else the source.", "dsc"),
    ("cneg", "The source with its sign changed if the condition holds, else the source.", "dsc"),
    # Integers
    ("add", "Adds integers, or lanes of integers."),
    ("sub|subr", "Subtracts integers, or lanes of integers."),
    ("adds", "Adds integers and sets the flags."),
    ("subs", "Subtracts integers and sets the flags."),
    ("adcs?", "Adds integers and the carry flag."),
    ("sbcs?|ngcs?", "Subtracts integers and the carry flag."),
    ("negs?|abs", "Changes the sign, for abs only of negative numbers."),
    ("cmp", "Compares two integers and sets the flags.", "s"),
    ("cmn", "Compares an integer with the negative of another, and sets the flags.", "s"),
    ("tst", "Bitwise and that only sets the flags.", "s"),
    ("ccmp|ccmn", "Compares two integers if the condition holds, else sets the flags to the number.", "ssic"),
    ("ands|bics", "Bitwise and, or and with the complement, that also sets the flags."),
    ("<logic>", "Bitwise {logic}."),
    ("mov", "Copies a value."),
    ("movk", "Sets 16 bits of a register, and leaves the others.", "xs"),
    ("movz", "Sets a register to 16 bits at a place, and zero elsewhere."),
    ("movn", "Sets a register to the complement of 16 bits at a place."),
    ("lsl[rv]?", "Shifts bits left; each place doubles the number."),
    ("lsr[rv]?", "Shifts bits right, filling with zeros."),
    ("asr[rv]?", "Shifts bits right, filling with the sign."),
    ("asrd", "Divides by a power of two, towards zero."),
    ("rorv?|extr", "Rotates bits, or takes out some of two registers."),
    ("ubfx", "Takes out bits, and fills with zeros."),
    ("sbfx", "Takes out bits, and fills with their sign."),
    ("[us]bfi?z|[us]bfiz", "Moves the lowest bits to a place; the rest is zero or the sign."),
    ("bfi", "Inserts the lowest bits of the source at a place, and leaves the others.", "xs"),
    ("bfxil|bfc|[us]?bfm", "Copies bits to the lowest places, and leaves the others.", "xs"),
    ("sxt[bhw]", "Widens a signed integer."),
    ("uxt[bhw]", "Widens an unsigned integer."),
    ("clz", "Counts leading zeros."),
    ("cls", "Counts leading bits equal to the sign."),
    ("rbit", "Reverses the order of the bits."),
    ("m[rs]s", "Reads or writes a control register."),
    ("nop|hint|bti|paci\\w+|auti\\w+|yield", "A hint or marker; it computes nothing.", "i"),
    ("brk|udf|hlt", "Stops: this place is never reached.", "i"),
    ("[sz]?m?start|smstop", "Turns streaming mode on or off.", "i"),
    ("[fbsu]+mop[as]", "Outer product of two vectors, added to a tile.", "xmms"),
)

_LANES = re.compile(r"[vz]\d+\.(\d*)([bhsdq])(\[\d+\])?")
_BITS = {"b": 8, "h": 16, "s": 32, "d": 64, "q": 128}
_EXTENDS = {"lsl": "shifted left by", "lsr": "shifted right by", "asr": "shifted right with its sign by",
                "sxtw": "as a signed 32-bit integer", "uxtw": "as an unsigned 32-bit integer", "mul": "×"}  # fmt: skip


def _operand(text: str) -> str:
    """Return what an operand is; empty if its text says it all."""
    if text.startswith("["):
        inner, _, after = text[1:].partition("]")
        base, *rest = [part.strip() for part in inner.split(",")]
        terms = [base]
        for part in rest:
            word, _, count = part.partition(" ")
            if word in _EXTENDS:
                shift = count.strip("#")
                times = f" × {1 << int(shift)}" if re.fullmatch("[0-9]{1,2}", shift) and word != "mul" else ""
                terms[-1] = f"{terms[-1]}{times}" if word != "mul" else f"{terms[-1]} × a vector's length"
            else:
                terms.append(number(part.lstrip("#")))
        stack = ", on the stack" if base == "sp" else ""
        if after.startswith("!"):
            return f"memory: {total(terms)}, which {base} becomes{stack}"
        return f"memory: {total(terms)}{stack}"
    if text.startswith("#"):
        return f"the number {number(text[1:])}"
    if match := _LANES.search(text):
        count, letter, one = match.groups()
        bits = _BITS[letter]
        if one:
            return f"lane {one[1:-1]}, of {bits} bits"
        return f"{count} lanes of {bits} bits" if count else f"lanes of {bits} bits"
    word, _, count = text.partition(" ")
    if word in _EXTENDS:
        return f"the source before it {_EXTENDS[word]} {count.lstrip('#')}".strip()
    if match := re.match(r"p\d+/([mz])$", text):
        return "lanes that it selects, the others " + ("become zero" if match[1] == "z" else "stay as they are")
    if text in ("xzr", "wzr"):
        return "zero"
    return {"x": "64 bits", "w": "32 bits", "q": "vector of 128 bits", "d": "64 bits", "s": "32 bits", "h": "16 bits",
            "b": "8 bits"}.get(text[0], "") if re.match(r"[xwqdshb]\d+$", text) else ""  # fmt: skip


AARCH64 = InstructionSet(
    "aarch64",
    _ROWS,
    "ds",
    {
        "condition": _CONDITION,
        "access": _ACCESS,
        "sign": _SIGN,
        "arithmetic": _ARITHMETIC,
        "rounding": _ROUNDING,
        "logic": _LOGIC,
        "lane": _LANE,
        "count": _COUNT,
        "what": {"clr": "clear bits", "set": "set bits"},
    },
    operand=_operand,
    line=r"\s+(?P<name>[a-z][\w.]*)\s*(?P<rest>(?:(?!//).)*)(?://.*)?",
)
