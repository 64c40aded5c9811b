"""Classification of machine instructions by mnemonic.

The patterns are grouped by architecture; the first that matches the whole mnemonic applies.
"""

from __future__ import annotations

import re
from functools import cache

INSTRUCTION = r"\s+(?:\{\w+\}\s+)?([a-z][\w.]*)"
"""How a line with an instruction begins; the group is the mnemonic, behind an encoding such as ``{vex}``."""

KINDS = (
    "fma", "arithmetic", "load", "store", "move", "compare", "branch", "call", "convert", "shuffle", "logic",
    "address", "other",
)  # fmt: skip
"""Whether a ``move`` is a load or a store depends on its operands."""

_X86 = (
    (r"vfn?m(add|sub|addsub)\d+[ps][sdh]|vpdp\w+|vdpbf16ps|tdp\w+", "fma"),
    (r"tileloadd\w*", "load"),
    (r"tilestored", "store"),
    (r"ldtilecfg|sttilecfg|tilezero|tilerelease", "other"),
    (r"vbroadcast\w+|vpbroadcast\w+|v?movddup", "load"),
    (r"v?mov[ua]p[sdh]|v?movdq[ua]\d*|v?movs[sdh]|v?mov[dqw]|v?lddqu", "move"),
    (r"v?gather\w+|vpgather\w+", "load"),
    (r"v?scatter\w+|vpscatter\w+", "store"),
    (
        r"v?add[ps][sdh]|v?sub[ps][sdh]|v?mul[ps][sdh]|v?div[ps][sdh]|v?sqrt[ps][sdh]|v?(max"
        r"|min)[ps][sdh]",
        "arithmetic",
    ),
    (r"v?round[ps][sd]|vrndscale[ps][sdh]|v(reduce|scalef)[ps][sdh]", "arithmetic"),
    (r"vgf2p8\w+|v?padd\w*|v?psub\w*|v?pmul\w*|v?pmadd\w*|v?pabs\w*|v?p(max|min)[su][bwdq]", "arithmetic"),
    (r"v?ps[lr][la][wdq]?v?[wdq]?|v?pslldq|v?psrldq|v?xorp[sd]|v?pxor[dq]?", "logic"),
    (r"v?(and|or|andn)p[sd]|v?p(and|or|andn)[dq]?|vpternlog[dq]", "logic"),
    (r"v?cmp\w*[ps][sdh]|v?u?comis[sdh]|v?pcmp\w+|vpcmp\w+|vptestn?m?\w*", "compare"),
    (r"v?cvt\w+|v?pmov[sz]x\w+|vpmov\w+", "convert"),
    (
        r"v?shufp?[sd]?|v?unpck\w+|v?punpck\w+|v?pshuf\w+|v?perm\w+|vp?erm\w+|v?(insert|extract)\w+"
        r"|v?p(insr|extr)\w|v?palignr|valign[dq]|v?movhlps|v?movlhps|v?movs[lh]dup|v?pack\w+|vpack\w+|vpcompress\w|vpexpand\w",
        "shuffle",
    ),
    (r"v?p?blend\w*|vpblendm\w|vblendm\w+", "shuffle"),
    (r"k(mov|and|or|xor|xnor|not|shift|ortest|unpck|test|add)\w*", "logic"),
    (r"vzeroupper|vzeroall", "other"),
    (r"prefetch\w*", "load"),
    (r"lea[lqw]?", "address"),
    (r"movabs\w*", "move"),
    (r"mov[sz]\w\w|movs[lbw][lqw]|cltq|cqto|cltd|cwt[dl]|cbtw|movslq", "convert"),
    (r"mov[bwlq]?|xchg\w?|cmov\w+", "move"),
    (r"set[a-z]{1,3}|(cmp|test|bt)[bwlq]?", "compare"),
    (r"jmp[q]?|j[a-z]{1,3}", "branch"),
    (r"call[q]?", "call"),
    (r"ret[q]?", "branch"),
    (r"push[q]?", "store"),
    (r"pop[q]?", "load"),
    (r"(add|inc|adc)[bwlq]?|(sub|dec|sbb)[bwlq]?|i?mul[bwlqx]?|mulx\w?|i?div[bwlq]?|neg[bwlq]?", "arithmetic"),
    (r"(and|or|xor|not|andn)[bwlq]?|(sh[lr]|sa[lr]|ro[lr])[dx]?[bwlq]?|shlx\w|sarx\w|shrx\w|rorx\w", "logic"),
    (r"(tzcnt|lzcnt|popcnt|bsf|bsr|blsr|blsi|bextr|bzhi|pext|pdep)\w?", "logic"),
    (r"rep\w*|stos\w|movs[bwlq]", "store"),
    (r"lock|xadd\w|cmpxchg\w*|nop\w*|endbr64|data16|cs|ud2|int3|hlt", "other"),
)
_AARCH64 = (
    (r"fml[as]l?2?|fn?m(add|sub)|(us|[su]|bf)(dot|mmla)|[us]ml[as]l2?|ml[as]", "fma"),
    (r"ld[1-4]r|ldp|ldnp|ld[1-4]|ldr\w*|ldu\w+|ldar\w*", "load"),
    (r"stp|stnp|st[1-4]|str\w*|stu\w+|stlr\w*", "store"),
    (r"dup|movi|mvni|fmov|ins|umov|smov|mov[kzn]?", "move"),
    (r"fcvt\w*|[su]cvtf|[su]?xt[bhwnl]\w*|[su]shll2?|xtn2?", "convert"),
    (r"f(add|sub|mul|div|sqrt|neg|abs|rint\w|nmul)\w*|f(max|min)\w*|[su](max|min)\w*", "arithmetic"),
    (r"fcmp\w*|fcm\w+|fac\w+|cm[a-z]{2}|cmp|cmn|tst|ccmp", "compare"),
    (r"tbl|tbx|ext|zip[12]|uzp[12]|trn[12]|rev\d*", "shuffle"),
    (r"adrp?|add\s+x\d+, x\d+, :lo12:", "address"),
    (r"prfm|prfum", "load"),
    (r"b\.\w+|cbn?z|tbn?z", "branch"),
    (r"bl|blr", "call"),
    (r"b|br|ret", "branch"),
    (r"m(add|sub|ul|neg)|[su]m\w+l2?|[su]mulh|[su]ab[ad]l?2?|abs|[su]div", "arithmetic"),
    (r"adds?|subs?|neg\w*|adc\w*|sbc\w*|cinc|cneg|[su]\w*add\w*|[su]\w*sub\w*", "arithmetic"),
    (r"csel|csinc|csinv|csneg|cset\w*|fcsel|bs?l|bi[tf]|bsl", "move"),
    (r"and\w*|orr|orn|eor|bic\w*|mvn|not", "logic"),
    (r"ls[lr]|asr|ror|[su]shl|[su]shr|shl|[su]sra|[su]?bf\w+|clz|cnt|rbit", "logic"),
    (r"nop|hint|bti|paciasp|autiasp|dmb|dsb|isb", "other"),
)
_RISCV = (
    (r"vf?w?n?m(acc|sac|add|sub)(u|su|us)?\.\w+|fn?m(add|sub)\.[sdh]", "fma"),
    (r"vset\w*vli?", "other"),
    (r"vl[seuo]\w*\.v|vl\dre?\d*\.v|f?l[bhwd]u?|fl[whd]", "load"),
    (r"vs[seuo]\w*\.v|vs\dr\.v|f?s[bhwd]|fs[whd]", "store"),
    (r"vf?mv\w*\.\w(\.\w)?|fmv\.\w\.\w|mv|li|lui", "move"),
    (r"vf(add|sub|rsub|mul|div|rdiv|sqrt|min|max)\S*|f(add|sub|mul|div|sqrt|min|max)\.\w", "arithmetic"),
    (r"vf?n?w?cvt\S+|fcvt\S+|v[sz]ext\S+|sext\.\w|zext\.\w", "convert"),
    (r"vf?red\S+|vfwred\S+", "arithmetic"),
    (r"vmf?\w+\.\w+|slt\w*|s(eqz|nez)|f(eq|lt|le)\.\w", "compare"),
    (r"vrgather\S+|vslide\S+|vf?slide\S+|vcompress\S+|vf?merge\S+|vid\.v|viota\S+", "shuffle"),
    (r"v\w+\.(vv|vx|vi|vvm|vxm|vim|v|mm|wv|wx|wi)", "arithmetic"),
    (r"beq|bne|bl[te]u?|bg[te]u?|b\w+z", "branch"),
    (r"call|jalr?|tail", "call"),
    (r"j|jr|ret", "branch"),
    (r"auipc|la|lla|sh[123]add\w*", "address"),
    (r"(add|sub|mul|neg|add\w|sub\w|mul\w+)i?w?|(div|rem)u?w?", "arithmetic"),
    (r"(and|or|xor)[in]?|not|s[rl][la]i?w?|clz\w?|ctz\w?|cpop\w?", "logic"),
    (r"csrr\w*|csrw\w*|f[sr]rmi?|f[sr]csr|fence\S*|nop", "other"),
)
_WASM = (
    (r"[fi]\d+x\d+\.relaxed_n?madd", "fma"),
    (r"v128\.load\w*_splat|(v128|[if]\d+)\.load\w*", "load"),
    (r"(v128|[if]\d+)\.store\w*", "store"),
    (r"[if]\d+x\d+\.splat|[fi]\d+\.const|v128\.const|local\.(get|set|tee)|global\.(get|set)", "move"),
    (r"[if]\d+x\d+\.(shuffle|swizzle|extract_lane\w*|replace_lane)|i8x16\.\w*shuffle", "shuffle"),
    (r"\S+\.(convert|trunc|extend|promote|demote|wrap|reinterpret|narrow)\S*", "convert"),
    (r"\S+\.(eqz?|ne|[lg][te](_[su])?)", "compare"),
    (r"\S+\.(and|or|xor|not|shl|shr\S*|rot\w|clz|ctz|popcnt|bitselect|andnot)", "logic"),
    (r"(f\d+|f\d+x\d+|i\d+|i\d+x\d+)\.\w+", "arithmetic"),
    (r"call\w*|return_call\w*", "call"),
    (r"br\w*|return|if|else", "branch"),
    (r"loop|block|end\w*|select|drop|unreachable", "other"),
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
def instruction_kind(mnemonic: str, architecture: str = "x86_64") -> str | None:
    """Return the kind of a machine instruction, one of :data:`KINDS`; None for an unknown mnemonic."""
    rows = _BY_ARCHITECTURE.get(architecture, ())
    return next((kind for pattern, kind in rows if re.fullmatch(pattern, mnemonic)), None)


def architecture_of(text: str) -> str:
    """Detect the architecture of assembly from its registers and mnemonics."""
    if re.search(r"%[re]?[abcds][xip]\b|%[xyzt]mm\d", text):
        return "x86_64"
    if re.search(r"\blocal\.get\b|\bend_function\b", text):
        return "wasm32"
    if re.search(r"^\s+(vsetv?i?vli|addi|auipc|lui|lw|sd|li|flw|fsw)\s", text, re.M):
        return "riscv64"
    return "aarch64"
