"""One-sentence descriptions of assembly instructions for x86-64, AArch64, RISC-V and WebAssembly.

Families of instructions (conditional jumps, FMA forms, packed arithmetic) are described by patterns; the first pattern
of the architecture that matches the whole mnemonic is used, and its groups fill in the sentence.  Mnemonics differ
among architectures: ``sd`` is a store on RISC-V, but a suffix of x86's scalar float64 instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from compiler.target.instruction_kinds import INSTRUCTION, architecture_of

Rules = tuple[tuple[str, str], ...]
Rule = tuple[re.Pattern[str], str]

_ELEMENT = {
    "ps": "packed float32", "pd": "packed float64", "ss": "one float32", "sd": "one float64",
    "ph": "packed float16", "sh": "one float16",
    "b": "8-bit integers", "w": "16-bit integers", "d": "32-bit integers", "q": "64-bit integers",
}  # fmt: skip
_CONDITION = {
    "e": "equal", "z": "zero", "ne": "not equal", "nz": "not zero", "l": "less (signed)",
    "le": "less or equal (signed)",
    "g": "greater (signed)", "ge": "greater or equal (signed)", "b": "below (unsigned)",
    "be": "below or equal (unsigned)", "a": "above (unsigned)", "ae": "above or equal (unsigned)", "s": "negative",
    "ns": "not negative", "o": "overflow", "no": "no overflow", "p": "parity (unordered)", "np": "no parity",
}  # fmt: skip
_FMA_ORDER = {
    "132": "first × third + second", "213": "second × first + third", "231": "second × third + first",
}  # fmt: skip
_VERB = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "min": "smaller of", "max": "larger of",
    "sqrt": "square root of", "and": "bitwise and of", "or": "bitwise or of", "xor": "bitwise exclusive or of",
    "andn": "bitwise and-not of", "rcp": "approximate reciprocal of", "rsqrt": "approximate reciprocal square root of",
    "hadd": "add neighbours of", "cmp": "compare", "unpckl": "interleave the low halves of",
    "unpckh": "interleave the high halves of", "shuf": "pick lanes of two",
    "blend": "choose between two, lane by lane,",
    "perm": "reorder lanes of", "round": "round to integer", "rndscale": "round", "extract": "take a lane of",
}  # fmt: skip

WORDS: Mapping[str, Mapping[str, str]] = {
    "element": _ELEMENT,
    "condition": _CONDITION,
    "order": _FMA_ORDER,
    "verb": _VERB,
}
"""Words for the matches of named groups."""


def _any(table: Mapping[str, str]) -> str:
    return "|".join(sorted(table, key=len, reverse=True))


_E, _C, _V = _any(_ELEMENT), _any(_CONDITION), _any(_VERB)
_X86: Rules = (
    # Vectors
    (rf"vfmadd(?P<order>\d{{3}})(?P<element>{_E})", "Fused multiply-add of {element}: {order} operand, rounded once."),
    (rf"vfmsub(?P<order>\d{{3}})(?P<element>{_E})", "Fused multiply-subtract of {element}, rounded once."),
    (rf"vfnmadd(?P<order>\d{{3}})(?P<element>{_E})", "Fused negative multiply-add of {element}: −(a × b) + c."),
    (rf"vfnmsub(?P<order>\d{{3}})(?P<element>{_E})", "Fused negative multiply-subtract of {element}: −(a × b) − c."),
    (r"vbroadcast(?P<element>ss|sd)", "Copy {element} into every lane."),
    (r"v?broadcast[fi]\d+x\d+", "Copy a block of lanes into the whole register."),
    (r"vpbroadcast(?P<element>[bwdq])", "Copy one of {element} into every lane."),
    (r"v?mov[au](?P<element>ps|pd)", "Move {element} between memory and a vector register."),
    (r"v?movdq[au](?:8|16|32|64)?", "Move packed integers between memory and a vector register."),
    (r"v?movnt\w+", "Store past the caches."),
    (r"v?movs(?P<element>s|d)", "Move one floating-point number."),
    (r"v?mov[dq]", "Move 32 or 64 bits between a general and a vector register."),
    (r"v?mov[hl]\w*p[sd]", "Move half a vector register."),
    (r"v?movs[lh]dup|v?movddup", "Duplicate every second lane."),
    (r"v?movmskp[sd]|v?pmovmskb", "Gather the sign bits of the lanes into a general register."),
    (rf"v?(?P<verb>{_V})(?P<element>ps|pd|ss|sd|ph|sh)", "Floating point: {verb} {element}."),
    (r"v?cmp(?:n?eq|n?lt|n?le|n?gt|n?ge|un)?(?:_\w+)?(?P<element>ps|pd|ss|sd)", "Compare {element} into a mask."),
    (r"v?p(?P<verb>add|sub|and|or|xor|andn)(?P<element>[bwdq])?", "Integer vectors: {verb} lanes ({element})."),
    (r"v?padds[bw]|v?paddus[bw]", "Add integer lanes and saturate."),
    (r"v?pmull[wdq]", "Multiply integer lanes, keep the low halves."),
    (r"v?pmulh\w+", "Multiply integer lanes, keep the high halves."),
    (r"v?pmul(?:u|)dq", "Multiply every second 32-bit lane to 64 bits."),
    (r"v?pmaddwd|v?pmaddubsw", "Multiply integer lanes and add neighbouring products."),
    (r"vpdpbusds?|vpdpwssds?", "Integer dot product: multiply small lanes, add groups into 32-bit accumulators."),
    (r"v?pm(?:ax|in)[su][bwdq]", "Larger or smaller of integer lanes."),
    (r"v?pcmp(?:eq|gt)[bwdq]|vpcmp\w+", "Compare integer lanes into a mask."),
    (r"v?ps(?:ll|rl|ra)(?:v)?[wdq]|v?ps[lr]ldq", "Shift integer lanes."),
    (r"v?pshuf\w+", "Reorder integer lanes."),
    (r"v?punpck\w+", "Interleave the lanes of two registers."),
    (r"v?pack[su]\w+", "Narrow integer lanes and saturate."),
    (r"v?pmov[sz]x\w+", "Widen integer lanes."),
    (r"vpmov\w+", "Narrow integer lanes, or move between lanes and a mask."),
    (r"vperm\w+", "Reorder the lanes of one or two registers."),
    (r"vinsert\w+", "Put a block of lanes into a register."),
    (r"vextract\w+", "Take a block of lanes out of a register."),
    (r"v?p?insr[bwdq]|v?insertps", "Put a number into one lane."),
    (r"v?pextr[bwdq]|v?extractps", "Take a number out of one lane."),
    (r"v?cvt\w+", "Convert between number formats."),
    (r"v?ucomis[sd]|v?comis[sd]", "Compare two floating-point numbers and set the flags."),
    (r"v(?:p?gather|p?scatter)\w+", "Load or store lanes at separate addresses."),
    (r"vmaskmov\w+|vpmaskmov\w+", "Load or store only the lanes that a mask selects."),
    (r"vp?ternlog\w+", "Any bitwise function of three registers."),
    (r"vp?blend\w+|blendv\w+|pblend\w+", "Choose between two registers, lane by lane."),
    (r"vgetexp\w+|vgetmant\w+|vscalef\w+|vfixup\w+|vreduce\w+|vrange\w+", "Take numbers apart or scale them."),
    (r"vzeroupper|vzeroall", "Clear the upper halves of the vector registers, to avoid a slow change of modes."),
    (r"k(?:mov|and|andn|or|xor|xnor|not|ortest|test|shift[lr]|unpck|add)\w*", "Work on a mask register."),
    # The rest
    (rf"j(?P<condition>{_C})", "Jump if {condition}."),
    (rf"set(?P<condition>{_C})", "Set a byte to 1 if {condition}, else to 0."),
    (rf"cmov(?P<condition>{_C})[lqw]?", "Copy if {condition}."),
    (r"jmp[lq]?", "Jump."),
    (r"call[lq]?", "Call a function."),
    (r"ret[lq]?", "Return to the caller."),
    (r"push[lqw]?", "Put a register on the stack."),
    (r"pop[lqw]?", "Take a register from the stack."),
    (r"lea[lqw]?", "Compute an address without touching memory; often an addition in disguise."),
    (r"movabs[q]?", "Load a 64-bit constant."),
    (r"mov[sz][bwl][wlq]", "Load a small integer and widen it."),
    (r"movs[bwlqx]d?", "Copy memory, or widen a signed integer."),
    (r"mov[bwlq]?", "Copy a value."),
    (r"add[bwlq]?", "Add integers."),
    (r"sub[bwlq]?", "Subtract integers."),
    (r"inc[bwlq]?", "Add one."),
    (r"dec[bwlq]?", "Subtract one."),
    (r"neg[bwlq]?", "Change the sign."),
    (r"not[bwlq]?", "Flip all bits."),
    (r"imul[bwlq]?|mul[bwlq]|mulx[lq]?", "Multiply integers."),
    (r"idiv[bwlq]?|div[bwlq]", "Divide integers."),
    (r"cqto|cltd|cltq|cwtl", "Widen the sign of an integer, before a division or an address."),
    (r"and[bwlq]?|or[bwlq]?|xor[bwlq]?|andn[lq]?", "Bitwise operation; a register with itself under xor becomes zero."),
    (r"s[ah][lr]x?[bwlq]?|ro[lr]x?[bwlq]?", "Shift or rotate bits."),
    (r"cmp[bwlq]?", "Compare two integers and set the flags."),
    (r"xchg[bwlq]?|cmpxchg\w*|xadd[bwlq]?", "Exchange with memory in one step, as other threads see it."),
    (r"test[bwlq]?", "Bitwise and that only sets the flags."),
    (r"bt[src]?[lqw]?|bextr[lq]?|bzhi[lq]?|bls\w+", "Test or take out bits."),
    (r"[lt]zcnt[lq]?|popcnt[lq]?|bs[fr][lq]?", "Count bits."),
    (r"prefetch\w+", "Ask for a cache line ahead of time."),
    (r"nop[lwq]?|data16|cs", "Nothing; keeps loops aligned."),
    (r"ud2|int3|hlt", "Stop: this place is never reached."),
    (r"[lms]fence", "Order memory accesses."),
    (r"rep|lock|endbr64", "A prefix or marker."),
)  # fmt: skip
_AARCH64: Rules = (
    (r"add|adc", "Add integers."),
    (r"sub|sbc", "Subtract integers."),
    (r"neg", "Change the sign."),
    (r"adds|adcs|subs|sbcs|negs", "Add or subtract integers and set the flags."),
    (r"shl|[us]?q?rshr?n?2?|[su]shl", "Shift integer lanes."),
    (r"mul", "Multiply integers, or lanes of integers."),
    (r"ands?", "Bitwise and."),
    (r"cmp", "Compare two integers and set the flags."),
    (r"mov", "Copy a value."),
    (r"ret", "Return to the caller."),
    (r"[su](?:max|min)p?", "Larger or smaller of integer lanes."),
    (r"cm(?:eq|ge|gt|hi|hs|le|lt|tst)", "Compare integer lanes into a mask."),
    (r"prfu?m", "Ask for a cache line ahead of time."),
    (r"nop|hint|bti|paciasp|autiasp", "A hint or marker; it computes nothing."),
    (r"brk|udf", "Stop: this place is never reached."),
    (r"fml[as]", "Fused multiply-add into the vector's lanes."),
    (r"fn?m(?:add|sub)", "Fused multiply-add of scalars."),
    (r"[su]ml[as]l2?", "Multiply lanes to twice their width, and add."),
    (r"swp(?:al?|l)?[bh]?|cas(?:al?|l)?[bh]?|ldadd\w*", "Exchange with memory in one step."),
    (r"f(?:add|sub|mul|div|neg|abs|sqrt|max|min|maxnm|minnm|nmul)p?v?", "Floating-point arithmetic."),
    (r"fcmpe?|fccmp|fcsel|fcm\w\w", "Compare floating-point numbers, or choose by the result."),
    (r"fmov|dup|mov[iknz]|mvni?|ins|umov|smov", "Copy a value into a register or its lanes."),
    (r"ld[1-4]r?|st[1-4]", "Load or store whole vector registers."),
    (r"ldp|ldnp", "Load two registers at once."),
    (r"stp|stnp", "Store two registers at once."),
    (r"ldu?r(?:s?[bhw])?", "Load a register."),
    (r"stu?r[bh]?", "Store a register."),
    (r"adrp?", "Address of a symbol, relative to this instruction."),
    (r"cmn|ccm[np]|tst", "Integer arithmetic that sets the flags."),
    (r"madd|msub|mneg|smull|umull|smaddl|umaddl|smulh|umulh|sdiv|udiv|ml[as]", "Multiply or divide integers."),
    (r"b\.\w+|cbn?z|tbn?z", "Jump on a condition."),
    (r"b|br|bl|blr", "Jump, or call a function."),
    (r"csel|csinc|csinv|csneg|cset|csetm|cinc", "Choose by the flags."),
    (r"[su]shr|lsl|lsr|asr|ror|ubfx|sbfx|[su]bfiz|bfi|bfxil|extr|sxt[bhw]|uxt[bh]|[su]shll?2?|[su]?xtl2?", "Shift."),
    (r"[su]cvtf|fcvt\w+", "Convert between number formats."),
    (r"zip[12]|uzp[12]|trn[12]|rev\d*|ext|tbl", "Reorder lanes."),
    (r"[su]dot|[su]addl[pv]2?|addv|addp|[su]maxv|[su]minv|faddp", "Add or compare across lanes."),
    (r"eor|orr|orn|bic|bs[l]|bi[ft]|eon", "Bitwise operation."),
)  # fmt: skip
_RISCV: Rules = (
    (r"ret", "Return to the caller."),
    (r"add", "Add integers."),
    (r"sub", "Subtract integers."),
    (r"and|or|xor|not|andn|orn|xnor", "Bitwise operation."),
    (r"nop", "Nothing; keeps loops aligned."),
    (r"unimp|ebreak", "Stop: this place is never reached."),
    (r"fence(?:\.\w+)?", "Order memory accesses."),
    (r"f(?:l|s)[wd]", "Load or store a floating-point number."),
    (r"fn?m(?:add|sub)\.[sd]", "Fused multiply-add."),
    (r"f\w+\.[sd](?:\.\w+)?|fmv\.\w+\.\w+|fcvt\.\w+\.\w+", "Floating-point arithmetic or conversion."),
    (r"vset\w*vli?", "Set how many vector elements the next instructions work on, and how wide they are."),
    (r"vl(?:s|ux|ox)?e\d+\.v|vl\d?re\d+\.v", "Load a vector."),
    (r"vs(?:s|ux|ox)?e\d+\.v|vs\d?r\.v", "Store a vector."),
    (r"vf(?:n?m(?:acc|add|sac|sub))\.v[vf]", "Fused multiply-add of vectors."),
    (r"vf?mv\.\w\.\w|vfmv\w+\.\w+", "Copy a value into a vector, or out of it."),
    (r"vf\w+\.\w+", "Floating-point vector arithmetic."),
    (r"v\w+\.\w+", "Vector instruction."),
    (r"l[bhwd]u?", "Load an integer."),
    (r"s[bhwd]", "Store an integer."),
    (r"addi?w?|subw?|li|lui|auipc|mv|neg|la", "Integer arithmetic, or a constant."),
    (r"csrr\w*", "Read or write a control register, such as the vector length."),
    (r"amo\w+\.[wd](?:\.\w+)?|lr\.[wd]\w*|sc\.[wd]\w*", "Change memory in one step."),
    (r"mul[hw]?|mulhs?u|divu?w?|remu?w?", "Multiply or divide integers."),
    (r"b(?:eq|ne|lt|ge|gt|le)u?z?", "Jump on a comparison."),
    (r"j|jr|jal|jalr|call|tail", "Jump, or call a function."),
    (r"s[lr][la]i?w?|andi|ori|xori|slti?u?|seqz|snez|sh[123]add|zext\.\w|sext\.\w", "Shift, mask or compare integers."),
)  # fmt: skip
_WASM: Rules = (
    (r"local\.(?:get|set|tee)", "Read or write a local variable."),
    (r"global\.(?:get|set)", "Read or write a global variable."),
    (r"(?:[if]\d+|v128)\.load\w*", "Load from memory."),
    (r"(?:[if]\d+|v128)\.store\w*", "Store to memory."),
    (r"(?:[if]\d+|v128)\.const", "Put a constant on the stack."),
    (r"f\d+x\d+\.(?:mul|add|sub|div)", "Floating-point arithmetic on all lanes."),
    (r"\w+x\d+\.splat", "Copy a value into all lanes."),
    (r"[if]\d+(?:x\d+)?\.\w+", "Arithmetic, comparison or conversion of the top of the stack."),
    (r"v128\.\w+", "Bitwise operation on a vector."),
    (r"br(?:_if|_table)?", "Jump out of a block, or to the top of a loop."),
    (r"block|loop|end_block|end_loop|end_function|if|else|end_if|end", "Begin or end of a block."),
    (r"select|drop|return|unreachable|call(?:_indirect)?|memory\.\w+", "Control of the stack and of calls."),
)  # fmt: skip

RULES: Mapping[str, tuple[Rule, ...]] = {
    architecture: tuple((re.compile(pattern), sentence) for pattern, sentence in rules)
    for architecture, rules in (("x86_64", _X86), ("aarch64", _AARCH64), ("riscv64", _RISCV), ("wasm32", _WASM))
}
"""Rules by architecture, as named by :func:`architecture_of`."""
_MNEMONIC = re.compile(INSTRUCTION)


def describe_instruction(mnemonic: str, architecture: str) -> str | None:
    """Return the description of an instruction, or None if no rule matches."""
    for pattern, sentence in RULES.get(architecture, ()):
        match = pattern.fullmatch(mnemonic)
        if match:
            groups = {name: WORDS[name].get(value or "", value or "") for name, value in match.groupdict().items()}
            return sentence.format(**groups).replace(" ()", "")
    return None


def describe_instructions(lines: Iterable[str]) -> dict[str, str]:
    """Return the descriptions of the instructions in a listing, by mnemonic."""
    listed = list(lines)
    architecture = architecture_of("\n".join(listed))
    used = {match[1] for line in listed if (match := _MNEMONIC.match(line))}
    return {name: text for name in sorted(used) if (text := describe_instruction(name, architecture))}
