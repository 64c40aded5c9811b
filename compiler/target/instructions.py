"""What machine instructions do, in a sentence each, for readers who meet them for the first time.

A row is a pattern of mnemonics and a sentence; the first row that matches explains.  Rows are grouped by architecture,
as the last letters of an x86 mnemonic mean something else than those of AArch64 or RISC-V.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Instruction:
    """A family of mnemonics: what kind it is, and what it does.

    Attributes
    ----------
    kind : str
        ``fma``, ``arithmetic``, ``load``, ``store``, ``move``, ``compare``, ``branch``, ``call``, ``convert``,
        ``shuffle``, ``logic``, ``address`` or ``other``.  A ``move`` loads or stores by where its operands are.
    """

    pattern: str
    kind: str
    meaning: str


_ELEMENTS = {"ss": "one float32", "sd": "one float64", "ps": "float32 in every lane", "pd": "float64 in every lane"}

_X86 = (
    Instruction(r"vfn?m(add|sub|addsub)\d+[ps][sdh]", "fma", "Fused multiply-add: a * b ± c, rounded once"),
    Instruction(r"vpdpb\w+", "fma", "Dot product: four int8 products a lane, added to int32 sums"),
    Instruction(r"vbroadcast\w+|vpbroadcast\w+|v?movddup", "load", "Broadcast: copies one element into every lane"),
    Instruction(r"v?mov[ua]p[sdh]|v?movdq[ua]\d*|v?movs[sdh]|v?mov[dqw]|v?lddqu", "move", "Moves a vector or a lane"),
    Instruction(r"v?gather\w+|vpgather\w+", "load", "Gather: loads each lane from an address of its own"),
    Instruction(r"v?scatter\w+|vpscatter\w+", "store", "Scatter: stores each lane to an address of its own"),
    Instruction(r"v?add[ps][sdh]", "arithmetic", "Adds"),
    Instruction(r"v?sub[ps][sdh]", "arithmetic", "Subtracts"),
    Instruction(r"v?mul[ps][sdh]", "arithmetic", "Multiplies"),
    Instruction(r"v?div[ps][sdh]", "arithmetic", "Divides"),
    Instruction(r"v?sqrt[ps][sdh]", "arithmetic", "Square root"),
    Instruction(r"v?(max|min)[ps][sdh]", "arithmetic", "The larger or the smaller of two values"),
    Instruction(r"v?round[ps][sd]|vrndscale[ps][sdh]|vreduce[ps][sdh]", "arithmetic", "Rounds to a whole number"),
    Instruction(
        r"vgf2p8\w+|v?padd\w*|v?psub\w*|v?pmul\w*|v?pmadd\w*|v?pabs\w*",
        "arithmetic",
        "Integer arithmetic in every lane",
    ),
    Instruction(r"v?p(max|min)[su][bwdq]", "arithmetic", "The larger or the smaller integer in every lane"),
    Instruction(r"v?ps[lr][la][wdq]?v?[wdq]?|v?pslldq|v?psrldq", "logic", "Shifts the bits of every lane"),
    Instruction(r"v?xorp[sd]|v?pxor[dq]?", "logic", "Exclusive or of all bits; of a register with itself: zero"),
    Instruction(r"v?(and|or|andn)p[sd]|v?p(and|or|andn)[dq]?|vpternlog[dq]", "logic", "Combines the bits of vectors"),
    Instruction(r"v?cmp\w*[ps][sdh]|v?u?comis[sdh]|v?pcmp\w+|vpcmp\w+|vptestn?m?\w*", "compare", "Compares lanes"),
    Instruction(r"v?cvt\w+", "convert", "Converts between number types"),
    Instruction(r"v?pmov[sz]x\w+|vpmov\w+", "convert", "Widens or narrows the integers of a vector"),
    Instruction(
        r"v?shufp?[sd]?|v?unpck\w+|v?punpck\w+|v?pshuf\w+|v?perm\w+|vp?erm\w+|v?(insert|extract)\w+|v?p(insr|extr)\w"
        r"|v?palignr|valign[dq]|v?movhlps|v?movlhps|v?movs[lh]dup|v?pack\w+|vpack\w+|vpcompress\w|vpexpand\w",
        "shuffle",
        "Rearranges lanes",
    ),
    Instruction(r"v?p?blend\w*|vpblendm\w|vblendm\w+", "shuffle", "Takes each lane from one of two vectors"),
    Instruction(r"k(mov|and|or|xor|xnor|not|shift|ortest|unpck|test|add)\w*", "logic", "Works on masks: a bit a lane"),
    Instruction(r"vzeroupper|vzeroall", "other", "Clears the upper halves of vector registers before older code runs"),
    Instruction(r"prefetch\w*", "load", "Hint: this address is read soon"),
    Instruction(r"lea[lqw]?", "address", "Computes an address, without touching memory"),
    Instruction(r"movabs\w*", "move", "Loads a 64-bit constant"),
    Instruction(r"mov[sz]\w\w|movs[lbw][lqw]|cltq|cqto|cltd|cwt[dl]|cbtw|movslq", "convert", "Widens an integer"),
    Instruction(r"mov[bwlq]?|xchg\w?", "move", "Moves an integer or an address"),
    Instruction(r"cmov\w+", "move", "Moves if a condition holds"),
    Instruction(r"set[a-z]{1,3}", "compare", "Sets a byte to whether a condition holds"),
    Instruction(r"(cmp|test|bt)[bwlq]?", "compare", "Compares, for the conditional jump that follows"),
    Instruction(r"jmp[q]?", "branch", "Jumps"),
    Instruction(r"j[a-z]{1,3}", "branch", "Jumps if a condition holds: the end of a loop, or a test"),
    Instruction(r"call[q]?", "call", "Calls a function"),
    Instruction(r"ret[q]?", "branch", "Returns to the caller"),
    Instruction(r"push[q]?", "store", "Saves a register on the stack"),
    Instruction(r"pop[q]?", "load", "Restores a register from the stack"),
    Instruction(r"(add|inc|adc)[bwlq]?", "arithmetic", "Adds integers; often the step of a loop"),
    Instruction(r"(sub|dec|sbb)[bwlq]?", "arithmetic", "Subtracts integers; often the step of a loop"),
    Instruction(r"i?mul[bwlqx]?|mulx\w?", "arithmetic", "Multiplies integers"),
    Instruction(r"i?div[bwlq]?", "arithmetic", "Divides integers: slow"),
    Instruction(r"neg[bwlq]?", "arithmetic", "Negates an integer"),
    Instruction(r"(and|or|xor|not|andn)[bwlq]?", "logic", "Combines bits; xor of a register with itself: zero"),
    Instruction(r"(sh[lr]|sa[lr]|ro[lr])[dx]?[bwlq]?|shlx\w|sarx\w|shrx\w|rorx\w", "logic", "Shifts bits"),
    Instruction(r"(tzcnt|lzcnt|popcnt|bsf|bsr|blsr|blsi|bextr|bzhi|pext|pdep)\w?", "logic", "Counts or picks bits"),
    Instruction(r"rep\w*|stos\w|movs[bwlq]", "store", "Fills or copies memory"),
    Instruction(r"lock|xadd\w|cmpxchg\w*", "other", "Works on memory that threads share"),
    Instruction(r"nop\w*|endbr64|data16|cs|ud2|int3|hlt", "other", "Does nothing, or marks a place"),
)

_AARCH64 = (
    Instruction(r"fml[as]|fn?m(add|sub)", "fma", "Fused multiply-add, rounded once"),
    Instruction(r"[su]dot|[su]mmla", "fma", "Dot product: four int8 products a lane, added to int32 sums"),
    Instruction(r"ld[1-4]r", "load", "Loads one element into every lane"),
    Instruction(r"ldp|ldnp", "load", "Loads two registers from neighbouring addresses"),
    Instruction(r"ld[1-4]|ldr\w*|ldu\w+|ldar\w*", "load", "Loads"),
    Instruction(r"stp|stnp", "store", "Stores two registers to neighbouring addresses"),
    Instruction(r"st[1-4]|str\w*|stu\w+|stlr\w*", "store", "Stores"),
    Instruction(r"dup|movi|mvni|fmov|ins|umov|smov|mov[kzn]?", "move", "Moves, or fills every lane"),
    Instruction(r"fcvt\w*|[su]cvtf|[su]?xt[bhwnl]\w*|[su]shll2?|xtn2?", "convert", "Converts between number types"),
    Instruction(r"f(add|sub|mul|div|sqrt|neg|abs|rint\w|nmul)\w*", "arithmetic", "Floating-point arithmetic"),
    Instruction(r"f(max|min)\w*|[su](max|min)\w*", "arithmetic", "The larger or the smaller of two values"),
    Instruction(r"fcmp\w*|fcm\w+|fac\w+|cm[a-z]{2}|cmp|cmn|tst|ccmp", "compare", "Compares"),
    Instruction(r"tbl|tbx|ext|zip[12]|uzp[12]|trn[12]|rev\d*", "shuffle", "Rearranges lanes"),
    Instruction(r"adrp?|add\s+x\d+, x\d+, :lo12:", "address", "Computes an address"),
    Instruction(r"prfm|prfum", "load", "Hint: this address is read soon"),
    Instruction(r"b\.\w+|cbn?z|tbn?z", "branch", "Jumps if a condition holds: the end of a loop, or a test"),
    Instruction(r"bl|blr", "call", "Calls a function"),
    Instruction(r"b|br|ret", "branch", "Jumps or returns"),
    Instruction(r"m(add|sub|ul|neg)|[su]m\w+l2?|[su]mulh|mla|mls", "arithmetic", "Multiplies integers"),
    Instruction(r"[su]ab[ad]l?2?|abs", "arithmetic", "Absolute values of integers, or of their differences"),
    Instruction(r"[su]div", "arithmetic", "Divides integers: slow"),
    Instruction(
        r"adds?|subs?|neg\w*|adc\w*|sbc\w*|cinc|cneg|[su]\w*add\w*|[su]\w*sub\w*", "arithmetic", "Adds or subtracts"
    ),
    Instruction(r"csel|csinc|csinv|csneg|cset\w*|fcsel|bs?l|bi[tf]|bsl", "move", "Takes one of two values"),
    Instruction(r"and\w*|orr|orn|eor|bic\w*|mvn|not", "logic", "Combines bits"),
    Instruction(
        r"ls[lr]|asr|ror|[su]shl|[su]shr|shl|[su]sra|[su]?bf\w+|clz|cnt|rbit", "logic", "Shifts or counts bits"
    ),
    Instruction(r"nop|hint|bti|paciasp|autiasp|dmb|dsb|isb", "other", "Orders or marks"),
)

_RISCV = (
    Instruction(r"vfn?m(acc|sac|add|sub)\.\w+|fn?m(add|sub)\.[sdh]", "fma", "Fused multiply-add, rounded once"),
    Instruction(r"vset\w*vli?", "other", "Sets how many elements the next vector instructions work on"),
    Instruction(r"vl[seuo]\w*\.v|vl\dre?\d*\.v|f?l[bhwd]u?|fl[whd]", "load", "Loads"),
    Instruction(r"vs[seuo]\w*\.v|vs\dr\.v|f?s[bhwd]|fs[whd]", "store", "Stores"),
    Instruction(r"vf?mv\w*\.\w(\.\w)?|fmv\.\w\.\w|mv|li|lui", "move", "Moves, or fills every element"),
    Instruction(
        r"vf(add|sub|rsub|mul|div|rdiv|sqrt|min|max)\S*|f(add|sub|mul|div|sqrt|min|max)\.\w",
        "arithmetic",
        "Floating-point arithmetic",
    ),
    Instruction(r"vf?n?w?cvt\S+|fcvt\S+|v[sz]ext\S+|sext\.\w|zext\.\w", "convert", "Converts between number types"),
    Instruction(r"vf?red\S+|vfwred\S+", "arithmetic", "Reduces a vector to one value"),
    Instruction(r"vmf?\w+\.\w+|slt\w*|s(eqz|nez)|f(eq|lt|le)\.\w", "compare", "Compares"),
    Instruction(
        r"vrgather\S+|vslide\S+|vf?slide\S+|vcompress\S+|vf?merge\S+|vid\.v|viota\S+", "shuffle", "Rearranges elements"
    ),
    Instruction(r"v\w+\.(vv|vx|vi|vvm|vxm|vim|v|mm|wv|wx|wi)", "arithmetic", "Integer arithmetic on every element"),
    Instruction(r"beq|bne|bl[te]u?|bg[te]u?|b\w+z", "branch", "Jumps if a condition holds"),
    Instruction(r"call|jalr?|tail", "call", "Calls a function"),
    Instruction(r"j|jr|ret", "branch", "Jumps or returns"),
    Instruction(r"auipc|la|lla|sh[123]add\w*", "address", "Computes an address"),
    Instruction(r"(add|sub|mul|neg|add\w|sub\w|mul\w+)i?w?", "arithmetic", "Integer arithmetic"),
    Instruction(r"(div|rem)u?w?", "arithmetic", "Divides integers: slow"),
    Instruction(r"(and|or|xor)[in]?|not|s[rl][la]i?w?|clz\w?|ctz\w?|cpop\w?", "logic", "Combines or shifts bits"),
    Instruction(r"csrr\w*|csrw\w*|f[sr]rmi?|f[sr]csr|fence\S*|nop", "other", "Control registers and memory order"),
)

_WASM = (
    Instruction(r"[fi]\d+x\d+\.relaxed_n?madd", "fma", "Multiply-add, fused where the machine can"),
    Instruction(r"v128\.load\w*_splat", "load", "Loads one element into every lane"),
    Instruction(r"(v128|[if]\d+)\.load\w*", "load", "Loads"),
    Instruction(r"(v128|[if]\d+)\.store\w*", "store", "Stores"),
    Instruction(r"[if]\d+x\d+\.splat|[fi]\d+\.const|v128\.const", "move", "A constant, or one value in every lane"),
    Instruction(r"local\.(get|set|tee)|global\.(get|set)", "move", "Reads or writes a local variable"),
    Instruction(
        r"[if]\d+x\d+\.(shuffle|swizzle|extract_lane\w*|replace_lane)|i8x16\.\w*shuffle", "shuffle", "Rearranges lanes"
    ),
    Instruction(r"\S+\.(convert|trunc|extend|promote|demote|wrap|reinterpret|narrow)\S*", "convert", "Converts"),
    Instruction(r"\S+\.(eqz?|ne|[lg][te](_[su])?)", "compare", "Compares"),
    Instruction(r"\S+\.(and|or|xor|not|shl|shr\S*|rot\w|clz|ctz|popcnt|bitselect|andnot)", "logic", "Combines bits"),
    Instruction(r"(f\d+|f\d+x\d+|i\d+|i\d+x\d+)\.\w+", "arithmetic", "Arithmetic"),
    Instruction(r"call\w*|return_call\w*", "call", "Calls a function"),
    Instruction(r"br\w*|return|if|else", "branch", "Jumps, perhaps if a condition holds"),
    Instruction(r"loop|block|end\w*|select|drop|unreachable", "other", "Marks a block, or picks a value"),
)

_BY_ARCHITECTURE = {
    "x86_64": _X86,
    "i686": _X86,
    "aarch64": _AARCH64,
    "arm64": _AARCH64,
    "riscv64": _RISCV,
    "wasm32": _WASM,
}


@cache
def explain(mnemonic: str, architecture: str = "x86_64") -> Instruction | None:
    """Return what a mnemonic does, None for one that the table lacks.

    Parameters
    ----------
    mnemonic : str
        E.g. ``vfmadd231ps``.
    architecture : str
        First part of a target triple.
    """
    for row in _BY_ARCHITECTURE.get(architecture, ()):
        if re.fullmatch(row.pattern, mnemonic):
            element = (
                _ELEMENTS.get(mnemonic[-2:])
                if row.kind in ("fma", "arithmetic") and architecture[:3] == "x86"
                else None
            )
            return Instruction(mnemonic, row.kind, f"{row.meaning}: {element}" if element else row.meaning)
    return None


def architecture_of(text: str) -> str:
    """Return the architecture that an assembly text is for, by its registers."""
    if re.search(r"%[re]?[abcds][xip]\b|%[xyz]mm\d", text):
        return "x86_64"
    if re.search(r"\blocal\.get\b|\bend_function\b", text):
        return "wasm32"
    if re.search(r"^\s+(vsetv?i?vli|addi|auipc|lui|lw|sd)\s", text, re.M):
        return "riscv64"
    return "aarch64"
