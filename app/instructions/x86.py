"""Instructions of x86-64, in the syntax of AT&T: sources first, the destination last."""

from __future__ import annotations

import re

from app.instructions.operands import number, total
from app.instructions.rules import InstructionSet, Row

_ELEMENT = {
    "ps": "packed float32", "pd": "packed float64", "ss": "one float32", "sd": "one float64",
    "ph": "packed float16", "sh": "one float16",
}  # fmt: skip
_INTEGER = {"b": "8-bit", "w": "16-bit", "d": "32-bit", "q": "64-bit"}
_SIZE = {"b": "8-bit ", "w": "16-bit ", "l": "32-bit ", "q": "64-bit ", "": ""}
_CONDITION = {
    "e": "equal", "z": "zero", "ne": "not equal", "nz": "not zero", "l": "less (signed)",
    "le": "less or equal (signed)",
    "g": "greater (signed)", "ge": "greater or equal (signed)", "b": "below (unsigned)",
    "be": "below or equal (unsigned)", "a": "above (unsigned)", "ae": "above or equal (unsigned)", "s": "negative",
    "ns": "not negative", "o": "overflow", "no": "no overflow", "p": "parity (unordered)", "np": "no parity",
}  # fmt: skip
_FMA = {
    "132": ("destination", "first source", "second source"), "213": ("destination", "second source", "first source"),
    "231": ("first source", "second source", "destination"),
}  # fmt: skip
"""Both factors and the addend, by the digits of a fused multiply-add."""
_FMA_SIGNS = {
    "vfmadd": ("multiply-add", "", "+"), "vfmsub": ("multiply-subtract", "", "−"),
    "vfnmadd": ("negated multiply-add", "−", "+"), "vfnmsub": ("negated multiply-subtract", "−", "−"),
}  # fmt: skip
_ARITHMETIC = {
    "add": "Adds {element}.",
    "sub": "Subtracts {element}: {vex} − first source.",
    "mul": "Multiplies {element}.",
    "div": "Divides {element}: {vex} ÷ first source.",
    "min": "Takes the smaller of {element}.",
    "max": "Takes the larger of {element}.",
    "sqrt": "Square root of {element}.",
    "and": "Bitwise and of {element}.",
    "or": "Bitwise or of {element}.",
    "xor": "Bitwise exclusive or of {element}; of a register with itself it is zero.",
    "andn": "Bitwise and of {element} with the complement of the {vex}.",
    "rcp": "Approximate reciprocal of {element}, 12 bits.",
    "rsqrt": "Approximate reciprocal square root of {element}, 12 bits.",
    "rcp14": "Approximate reciprocal of {element}, 14 bits.",
    "rsqrt14": "Approximate reciprocal square root of {element}, 14 bits.",
    "hadd": "Adds neighbouring {element}.",
    "hsub": "Subtracts neighbouring {element}.",
    "addsub": "Adds and subtracts {element} by turns.",
    "dp": "Dot product of {element}.",
    "unpckl": "Interleaves the low halves of {element}, in each 128 bits.",
    "unpckh": "Interleaves the high halves of {element}, in each 128 bits.",
    "round": "Rounds {element} to integers, in the direction that the immediate gives.",
    "rndscale": "Rounds {element} to the number of binary places that the immediate gives.",
    "getexp": "Exponent of {element}, as a number.",
    "getmant": "Mantissa of {element}.",
    "scalef": "Multiplies {element} by powers of two.",
    "range": "Smaller or larger of {element}, with a choice of sign.",
    "reduce": "What rounding takes away from {element}.",
    "fixupimm": "Replaces special values among {element} as a table says.",
}
_LANES = {
    "add": "Adds", "sub": "Subtracts", "adds": "Adds, saturating signed,", "addus": "Adds, saturating unsigned,",
    "subs": "Subtracts, saturating signed,", "subus": "Subtracts, saturating unsigned,",
    "avg": "Averages, rounded up,", "abs": "Takes the absolute values of", "maxs": "Takes the larger of signed",
    "maxu": "Takes the larger of unsigned", "mins": "Takes the smaller of signed",
    "minu": "Takes the smaller of unsigned", "mull": "Multiplies and keeps the low halves of products of",
    "sll": "Shifts left", "srl": "Shifts right, filling with zeros,", "sra": "Shifts right, filling with the sign,",
    "sllv": "Shifts left, each by its own count,", "srlv": "Shifts right, each by its own count, filling with zeros,",
    "srav": "Shifts right, each by its own count, filling with the sign,",
    "rol": "Rotates left", "ror": "Rotates right", "rolv": "Rotates left, each by its own count,",
    "rorv": "Rotates right, each by its own count,", "lzcnt": "Counts the leading zeros of",
    "popcnt": "Counts the ones of", "conflict": "Finds equal earlier", "sign": "Applies the signs of one source to",
    "hadd": "Adds neighbouring", "hsub": "Subtracts neighbouring",
}  # fmt: skip
_COMPARISON = {
    "eq": "equal", "lt": "less", "le": "less or equal", "unord": "unordered (one is NaN)", "neq": "not equal",
    "nlt": "not less", "nle": "not less or equal", "ord": "ordered (none is NaN)", "gt": "greater",
    "ge": "greater or equal", "nge": "not greater or equal", "ngt": "not greater", "true": "always",
    "false": "never",
}  # fmt: skip
_TYPE = {
    "ps": "float32",
    "pd": "float64",
    "ss": "float32",
    "sd": "float64",
    "ph": "float16",
    "sh": "float16",
    "phx": "float16",
    "psx": "float32",
    "dq": "32-bit integers",
    "qq": "64-bit integers",
    "udq": "unsigned 32-bit integers",
    "uqq": "unsigned 64-bit integers",
    "w": "16-bit integers",
    "uw": "unsigned 16-bit integers",
    "si": "an integer",
    "usi": "an unsigned integer",
    "neps": "float32",
    "nebf16": "bfloat16",
    "neps2": "two registers of float32",
    "2ps": "two registers of float32",
    "neobf16": "the odd bfloat16",
    "neebf16": "the even bfloat16",
}
_MASKED = {
    "and": "Bitwise and of", "andn": "Bitwise and-not of", "or": "Bitwise or of", "xor": "Bitwise exclusive or of",
    "xnor": "Bitwise equality of", "not": "Complement of", "add": "Sum of", "mov": "Copies",
    "shiftl": "Shifts left", "shiftr": "Shifts right", "unpck": "Joins the halves of",
}  # fmt: skip
_MASK_SIZE = {
    "b": "8-bit masks", "w": "16-bit masks", "d": "32-bit masks", "q": "64-bit masks", "bw": "8-bit masks",
    "wd": "16-bit masks", "dq": "32-bit masks",
}  # fmt: skip
_LEVEL = {
    "t0": "into all caches",
    "t1": "into the second cache",
    "t2": "into the third cache",
    "nta": "for a single use",
    "w": "to be written",
    "it0": "of instructions",
    "it1": "of instructions",
}

_ROWS: tuple[Row, ...] = (
    # Fused multiply-add
    *(
        (f"{name}{order}<element>", f"Fused {words} of {{element}}, rounded once: {sign}({a} × {b}) {plus} {c}.", "ssx")
        for name, (words, sign, plus) in _FMA_SIGNS.items()
        for order, (a, b, c) in _FMA.items()
    ),
    (r"vfmaddsub\d+<element>", "Fused multiply of {element}; even lanes subtract, odd lanes add.", "ssx"),
    (r"vfmsubadd\d+<element>", "Fused multiply of {element}; even lanes add, odd lanes subtract.", "ssx"),
    (r"\{?vex\}?|\{?evex\}?", "Asks for an encoding; computes nothing."),
    # Dot products and tiles
    ("vpdpbusds?", "Multiplies unsigned bytes by signed bytes, and adds each four products to a 32-bit lane.", "ssx"),
    ("vpdpb(?:ss|su|uu)ds?", "Multiplies bytes by bytes, and adds each four products to a 32-bit lane.", "ssx"),
    ("vpdpwssds?", "Multiplies signed 16-bit lanes, and adds each two products to a 32-bit lane.", "ssx"),
    ("vpdpw(?:us|su|uu)ds?", "Multiplies 16-bit lanes, and adds each two products to a 32-bit lane.", "ssx"),
    ("vdpbf16ps", "Multiplies bfloat16 pairs, and adds both products to a float32 lane.", "ssx"),
    ("vdpphps", "Multiplies float16 pairs, and adds both products to a float32 lane.", "ssx"),
    ("v?pmaddwd", "Multiplies signed 16-bit lanes, and adds neighbouring products to 32 bits."),
    ("v?pmaddubsw", "Multiplies unsigned by signed bytes, and adds neighbouring products to 16 bits, saturating."),
    ("v?psadbw", "Sums the absolute differences of each eight bytes."),
    ("v?mpsadbw|vdbpsadbw", "Sums absolute differences of runs of four bytes."),
    ("tdpbf16ps", "Matrix product of two tiles of bfloat16 pairs, added to a tile of float32.", "ssx"),
    ("tdpfp16ps", "Matrix product of two tiles of float16 pairs, added to a tile of float32.", "ssx"),
    (
        "tdpb(?:ss|su|us|uu)d",
        "Matrix product of two tiles of bytes in groups of four, added to a tile of 32-bit integers.",
        "ssx",
    ),
    ("tileloadd(?:t1)?", "Loads a tile, row by row with a stride.", "sd"),
    ("tilestored", "Stores a tile, row by row with a stride.", "sd"),
    ("tilezero", "Sets a tile to zero.", "d"),
    ("tilerelease", "Gives up the tile registers."),
    ("ldtilecfg", "Sets the shapes of the tile registers from memory.", "s"),
    ("sttilecfg", "Stores the shapes of the tile registers.", "d"),
    # Moves of vectors
    ("v?mov[au]<element>", "Moves {element}, between registers or from or to memory."),
    ("v?movdq[au](?:8|16|32|64)?", "Moves a vector of integers, between registers or from or to memory."),
    ("v?lddqu", "Loads a vector of integers from any address."),
    ("v?movnt(?:dqa|p[sd]|dq|i|[lq])?", "Moves past the caches."),
    ("v?movs(?P<element>s|d|h)", "Moves one floating-point number; a load sets the rest of the register to zero."),
    ("v?mov[dq]|vmovw", "Moves an integer between a general and a vector register or memory; the rest becomes zero."),
    ("v?movhlps", "Copies the high half of a register into the low half of another.", "ssd"),
    ("v?movlhps", "Copies the low half of a register into the high half of another.", "ssd"),
    ("v?mov(?P<half>[hl])p[sd]", "Moves 64 bits between memory and one half of 128 bits."),
    ("v?movshdup", "Copies every odd float32 lane into the even one before it."),
    ("v?movsldup", "Copies every even float32 lane into the odd one after it."),
    ("v?movddup", "Copies every even float64 lane into the odd one after it."),
    ("v?movmskp[sd]|v?pmovmskb", "Gathers the sign bits of the lanes into a general register."),
    ("vp?maskmov(?:ps|pd|d|q)|v?maskmovdqu", "Loads or stores only the lanes whose mask has its sign bit set."),
    ("v(?:p)?gather[dq](?:ps|pd|[dq])", "Loads each lane from an address of its own: base + index × scale."),
    ("v(?:p)?scatter[dq](?:ps|pd|[dq])", "Stores each lane to an address of its own: base + index × scale."),
    ("vbroadcast<element>", "Copies {element} into every lane."),
    (
        "v?broadcast[fi]\\d+x\\d+|vbroadcast[fi]128|vbroadcasti?f?\\d+x\\d+",
        "Copies a block of lanes into the whole register.",
    ),
    ("vpbroadcast<integer>", "Copies a {integer} integer into every lane."),
    ("vpbroadcastm\\w+", "Copies a mask into every lane as a number."),
    # Floating point
    ("<vex><arithmetic><element>", "{arithmetic}"),
    (
        "<vex>cmp<comparison>(?:_\\w+)?<element>",
        "Compares {element}: {comparison}, {vex} with first source; true lanes become ones, or bits of a mask.",
    ),
    ("v?cmp<element>", "Compares {element} as the immediate says; true lanes become ones, or bits of a mask."),
    ("v?u?comi<element>", "Compares the lowest lanes and sets the flags.", "s"),
    ("vfpclass\\w+", "Asks of each lane whether it is NaN, infinite, zero or the like; the answers become a mask."),
    (
        "v?cvtt?(?P<from>ps|pd|ss|sd|ph|sh|dq|qq|udq|uqq|uw|w|si|usi|neps|neebf16|neobf16)2(?P<to>phx?|psx?|pd|ss|sd|sh|dq|qq|udq|uqq|uw|w|si|usi|nebf16)[lq]?(?:s)?",
        "Converts {from} to {to}.",
    ),
    ("v?cvtne2ps2bf16|vcvtneps2bf16", "Rounds float32 to bfloat16."),
    ("v?cvt\\w+", "Converts between number formats."),
    # Integers in vectors
    ("v?p<lanes><integer>", "{lanes} {integer} integer lanes."),
    ("v?pmulhrsw", "Multiplies 16-bit lanes and keeps the rounded high halves."),
    ("v?pmulhu?w", "Multiplies 16-bit lanes and keeps the high halves of the products."),
    ("v?pmuludq", "Multiplies the even unsigned 32-bit lanes to 64 bits."),
    ("v?pmuldq", "Multiplies the even signed 32-bit lanes to 64 bits."),
    ("vpmadd52[lh]uq", "Multiplies 52-bit lanes, and adds the low or high halves of the products.", "ssx"),
    ("v?p(?P<logic>and|or|xor|andn)[dq]?", "Bitwise {logic} of vectors."),
    ("vpternlog[dq]", "Any bitwise function of three registers, whose table of truth is the immediate.", "issx"),
    ("v?pcmpeq<integer>", "Compares {integer} lanes: equal; true lanes become ones, or bits of a mask."),
    ("v?pcmpgt<integer>", "Compares {integer} lanes: greater; true lanes become ones, or bits of a mask."),
    ("vpcmp(?:<comparison>)?(?P<sign>u?)<integer>", "Compares {integer} lanes, {comparison}, into a mask."),
    ("vptestn?m<integer>", "Ands {integer} lanes; those that are not zero (or with n are zero) set bits of a mask."),
    ("v?ptest|vtestp[sd]", "Bitwise and that only sets the flags.", "s"),
    ("v?ps[lr]ldq", "Shifts each 128 bits by bytes."),
    ("vpsh[lr]dv?[wdq]", "Shifts pairs of lanes into each other."),
    ("v?pshufb", "Picks bytes of each 128 bits by their numbers."),
    ("v?pshuf(?P<half>[hl]?)[wd]", "Reorders lanes of each 128 bits, as the immediate says."),
    (
        "v?shufp[sd]",
        "Picks lower lanes from one source and upper lanes from the other, in each 128 bits, as the immediate says.",
        "issd",
    ),
    ("vshuf[fi]\\d+x\\d+", "Picks blocks of 128 bits from two registers, as the immediate says.", "issd"),
    ("v?punpckl\\w+", "Interleaves the low halves of two registers, in each 128 bits."),
    ("v?punpckh\\w+", "Interleaves the high halves of two registers, in each 128 bits."),
    ("v?packss\\w+", "Narrows signed lanes of two registers, saturating signed."),
    ("v?packus\\w+", "Narrows signed lanes of two registers, saturating unsigned."),
    ("v?pmovsx(?P<from>[bwd])(?P<to>[wdq])", "Widens lanes, filling with the sign."),
    ("v?pmovzx(?P<from>[bwd])(?P<to>[wdq])", "Widens lanes, filling with zeros."),
    ("vpmov(?:[bwdq]2m)", "Gathers the sign bits of the lanes into a mask."),
    ("vpmovm2[bwdq]", "Spreads the bits of a mask over lanes, as all ones or zeros."),
    ("vpmovus[wdq][bwd]", "Narrows unsigned lanes, saturating."),
    ("vpmovs[wdq][bwd]", "Narrows signed lanes, saturating."),
    ("vpmov[wdq][bwd]", "Narrows lanes to their low halves, quarters or eighths."),
    ("v?palignr", "Joins two registers and takes out 128 bits that begin at a byte, in each 128 bits.", "issd"),
    ("valign[dq]", "Joins two registers and takes out one that begins at a lane.", "issd"),
    ("vperm(?:q|pd)", "Reorders lanes of 64 bits, as the immediate or a register says."),
    ("vperm2[fi]128", "Picks two blocks of 128 bits from two registers, as the immediate says.", "issd"),
    ("vpermilp[sd]", "Reorders lanes of each 128 bits, as the immediate or a register says."),
    ("vpermt2(?:[bwdq]|p[sd])", "Picks lanes from two registers by their numbers; a source becomes the result.", "ssx"),
    ("vpermi2(?:[bwdq]|p[sd])", "Picks lanes from two registers by their numbers, which the result replaces.", "ssx"),
    ("vperm(?:[bwd]|ps)", "Picks lanes of a register by their numbers."),
    ("vinsert[fi]\\d+\\w*", "Puts a block of lanes into a copy of a register.", "issd"),
    ("vextract\\w+", "Takes a block of lanes out of a register.", "isd"),
    ("v?pinsr<integer>", "Puts a {integer} integer into one lane.", "issd"),
    ("v?insertps", "Puts a float32 into one lane, and sets others to zero, as the immediate says.", "issd"),
    ("v?pextr<integer>", "Takes a {integer} integer out of one lane.", "isd"),
    ("v?extractps", "Takes a float32 out of one lane.", "isd"),
    (
        "v?blendp[sd]|v?pblend[wd]",
        "Chooses between two registers lane by lane, as the bits of the immediate say.",
        "issd",
    ),
    ("v?blendvp[sd]|v?pblendvb", "Chooses between two registers lane by lane, as the signs of a mask say.", "msd"),
    ("vp?blendm\\w+", "Chooses between two registers lane by lane: the first source where the mask is 1."),
    ("vp?(?:compress)\\w+", "Packs the lanes that a mask selects together."),
    ("vp?(?:expand)\\w+", "Spreads packed lanes over those that a mask selects."),
    ("vgf2p8mulb", "Multiplies bytes in GF(2⁸)."),
    ("vgf2p8affine\\w+", "Multiplies bytes as vectors of bits by a matrix of bits."),
    ("vzeroupper", "Clears the upper halves of the vector registers, so that SSE code after it is not slow."),
    ("vzeroall", "Clears the vector registers."),
    ("kmov[bwdq]", "Moves a mask, between mask registers or from or to a general register or memory."),
    ("k(?:ortest|test)[bwdq]", "Combines two masks and sets only the flags.", "s"),
    ("k<masked><mask_size>", "{masked} {mask_size}."),
    # Control
    ("j<condition>", "Jumps if {condition}.", "t"),
    ("set<condition>", "Sets a byte to 1 if {condition}, else to 0.", "d"),
    ("cmov<condition>[lqw]?", "Copies if {condition}.", "sx"),
    ("jmp[lq]?", "Jumps.", "t"),
    ("call[lq]?", "Calls a function.", "t"),
    ("ret[lq]?", "Returns to the caller."),
    ("push[lqw]?", "Puts a value on the stack.", "s"),
    ("pop[lqw]?", "Takes a value from the stack.", "d"),
    ("leave[lq]?", "Gives up the frame of the function on the stack."),
    # Integers
    (
        "lea<size>",
        "Computes an address without touching memory; often an addition or a multiplication in disguise.",
        "ad",
    ),
    ("movabsq?", "Loads a 64-bit constant."),
    ("movz<integer_from>[wlq]|movzx", "Copies a smaller unsigned integer, widened with zeros."),
    ("movs(?:bw|bl|bq|wl|wq|lq)|movsxd?", "Copies a smaller signed integer, widened with its sign."),
    ("(?:rep)?movs[bwlq]", "Copies memory from where rsi points to where rdi points."),
    ("(?:rep)?stos[bwlq]", "Fills memory where rdi points."),
    ("mov(?:be)?<size>", "Copies a {size}value."),
    ("(?P<what>add|sub)<size>", "{what} {size}integers, and sets the flags.", "sx"),
    ("adc<size>|adcx[lq]|adox[lq]", "Adds integers and the carry flag.", "sx"),
    ("sbb<size>", "Subtracts integers and the carry flag.", "sx"),
    ("inc<size>", "Adds one.", "x"),
    ("dec<size>", "Subtracts one.", "x"),
    ("neg<size>", "Changes the sign.", "x"),
    ("not<size>", "Flips all bits.", "x"),
    ("imul<size>", "Multiplies signed {size}integers."),
    ("mul<size>", "Multiplies rax by an unsigned integer; the product, twice as wide, is in rdx and rax.", "s"),
    ("mulx[lq]?", "Multiplies rdx by an unsigned integer into two registers, and leaves the flags alone.", "sdd"),
    (
        "idiv<size>",
        "Divides the signed integer in rdx and rax; the quotient is in rax, the remainder in rdx. Slow.",
        "s",
    ),
    (
        "div<size>",
        "Divides the unsigned integer in rdx and rax; the quotient is in rax, the remainder in rdx. Slow.",
        "s",
    ),
    ("cqto|cqo|cltd|cdq", "Fills rdx with the sign of rax, before a division."),
    ("cltq|cwtl|cbtw|cwtd|cdqe", "Widens the signed integer in rax in place."),
    ("andn[lq]?", "Bitwise and with the complement of the second source."),
    ("(?P<logic>and|or)<size>", "Bitwise {logic} of {size}integers, and sets the flags.", "sx"),
    ("xor<size>", "Bitwise exclusive or of {size}integers; of a register with itself it is zero.", "sx"),
    ("(?:sh|sa)l<size>", "Shifts bits left; each place doubles the number.", "sx"),
    ("shr<size>", "Shifts bits right, filling with zeros.", "sx"),
    ("sar<size>", "Shifts bits right, filling with the sign.", "sx"),
    ("shlx[lq]?", "Shifts bits left, and leaves the flags alone."),
    ("shrx[lq]?", "Shifts bits right, filling with zeros, and leaves the flags alone."),
    ("sarx[lq]?", "Shifts bits right, filling with the sign, and leaves the flags alone."),
    ("sh[lr]d<size>", "Shifts the bits of one register into another.", "ssx"),
    ("ro[lr]<size>|rorx[lq]?|rc[lr]<size>", "Rotates bits."),
    ("cmp<size>", "Compares two {size}integers, the second with the first operand, and sets only the flags.", "s"),
    ("test<size>", "Bitwise and of {size}integers that only sets the flags.", "s"),
    ("xchg<size>", "Exchanges two values; with memory in one step, as other threads see it.", "x"),
    (
        "cmpxchg\\w*",
        "Replaces a value in memory if it equals rax, in one step as other threads see it with lock.",
        "sx",
    ),
    ("xadd<size>", "Adds to a value in memory and returns what it was.", "xx"),
    ("bt<size>", "Copies one bit into the carry flag.", "s"),
    ("bt[src]<size>", "Copies one bit into the carry flag, and changes it.", "sx"),
    ("bextr[lq]?|pext[lq]?", "Takes out bits."),
    ("pdep[lq]?", "Spreads bits over the places that a mask gives."),
    ("bzhi[lq]?", "Clears the bits from a place on."),
    ("blsr[lq]?", "Clears the lowest set bit."),
    ("blsi[lq]?", "Keeps only the lowest set bit."),
    ("blsmsk[lq]?", "Mask up to the lowest set bit."),
    ("lzcnt<size>", "Counts leading zeros."),
    ("tzcnt<size>", "Counts trailing zeros."),
    ("popcnt<size>", "Counts the ones."),
    ("bsr<size>", "Number of the highest set bit."),
    ("bsf<size>", "Number of the lowest set bit."),
    ("bswap<size>", "Reverses the order of the bytes.", "x"),
    ("prefetch<level>", "Asks for a cache line {level} ahead of time.", "a"),
    ("nop[lwq]?|data16|cs|xchgw?", "Does nothing; keeps loops aligned.", "i"),
    ("ud2|int3|hlt", "Stops: this place is never reached."),
    ("syscall", "Calls the operating system."),
    ("mfence", "Orders all memory accesses before it and after it."),
    ("lfence", "Orders the loads before it and after it."),
    ("sfence", "Orders the stores before it and after it."),
    ("pause", "Tells the processor that a loop waits."),
    ("lock", "Makes the next instruction one step, as other threads see it."),
    ("rep\\w*", "Repeats the next instruction, rcx times."),
    ("endbr64", "Marks a place that may be jumped to indirectly."),
    ("rdtscp?", "Reads the counter of time stamps into rdx and rax."),
    ("cpuid", "Asks the processor what it can do."),
    ("std?mxcsr|v?ldmxcsr|v?stmxcsr", "Moves the control word of floating-point arithmetic."),
    ("f(?:ld|st|add|mul|div|sub)\\w*", "Works on the stack of 80-bit floating-point numbers."),
)

_WORDS = {
    "vex": {"v": "second source", "": "destination"},
    "element": _ELEMENT, "integer": _INTEGER, "size": _SIZE, "condition": _CONDITION,
    "arithmetic": _ARITHMETIC, "lanes": _LANES, "comparison": _COMPARISON, "from": _TYPE, "to": _TYPE,
    "masked": _MASKED, "mask_size": _MASK_SIZE, "level": _LEVEL, "integer_from": {"b": "8-bit", "w": "16-bit"},
    "logic": {"xor": "exclusive or", "andn": "and with the complement"}, "what": {"add": "Adds", "sub": "Subtracts"},
}  # fmt: skip
_MEMORY = re.compile(r"(?:%(?P<segment>[c-gs]s):)?(?P<offset>[^()]*)\((?P<inner>[^()]*)\)")
_WIDTHS = {"x": 128, "y": 256, "z": 512}


def _operand(text: str) -> str:
    """Return what an operand is; empty if its text says it all."""
    if match := _MEMORY.match(text):
        base, index, scale = [*(part.strip(" %") for part in match["inner"].split(",")), "", ""][:3]
        offset = match["offset"].strip()
        spread = re.search(r"\{1to(\d+)\}", text)
        copies = f", one number for all {spread[1]} lanes" if spread else ""
        if base == "rip":
            return f"memory: {offset}, beside the code{copies}"
        times = f"{index} × {scale}" if index and scale not in ("", "1") else index
        where = total([base, times, number(offset) if offset not in ("", "0") else ""])
        stack = ", on the stack" if base in ("rsp", "rbp") and not index else ""
        return f"memory: {where}{copies}{stack}"
    if text.startswith("$"):
        return f"the number {number(text[1:])}" if re.match(r"\$-?[\dx]", text) else f"address of {text[1:]}"
    register = text.lstrip("*%")
    if match := re.match(r"([xyz])mm\d+", register):
        masked = re.search(r"\{%(k\d)\}", text)
        rest = "become zero" if "{z}" in text else "stay as they are"
        lanes = f"; only the lanes that {masked[1]} selects, the others {rest}" if masked else ""
        return f"vector of {_WIDTHS[match[1]]} bits{lanes}"
    if re.match(r"k\d$", register):
        return "mask, one bit per lane"
    if register.startswith("tmm"):
        return "tile of up to 16 rows of 64 bytes"
    if text.startswith(("%", "*%")):
        return "on the stack" if register == "rsp" else ""
    return ""


X86 = InstructionSet("x86_64", _ROWS, "sd", _WORDS, {"ps": 32, "pd": 64, "ph": 16}, operand=_operand)
