"""Features of the CPUs that LLVM knows; written by ``python -m compiler.target.cpu.cpu_lineage``.

Each row starts from the CPU after the colon.
"""

LLVM = (22, 1, 0)
ROWS = {
    "x86_64": """
        generic: none;
        x86-64: generic +cmov +fxsr +mmx;
        nocona: x86-64 +sse3;
        athlon-fx: x86-64 +prfchw +sbb-dep-breaking;
        athlon64: athlon-fx;
        core2: nocona +ssse3;
        core_2_duo_ssse3: core2;
        k8: athlon-fx;
        opteron: athlon-fx;
        athlon64-sse3: athlon-fx +sse3;
        core_2_duo_sse4_1: core2 +sse4.1;
        k8-sse3: athlon64-sse3;
        opteron-sse3: athlon64-sse3;
        penryn: core_2_duo_sse4_1;
        atom: core2 +fast-imm16 +movbe;
        bonnell: atom;
        amdfam10: athlon64-sse3 +lzcnt +popcnt +sse4a -mmx;
        barcelona: amdfam10;
        core_i7_sse4_2: core_2_duo_sse4_1 +crc32 +popcnt +sse4.2;
        corei7: core_i7_sse4_2;
        nehalem: core_i7_sse4_2;
        x86-64-v2: core_i7_sse4_2;
        core_aes_pclmulqdq: core_i7_sse4_2 +pclmul;
        westmere: core_aes_pclmulqdq;
        btver1: amdfam10 +fast-imm16 +mmx +ssse3;
        core_2nd_gen_avx: core_aes_pclmulqdq +avx +xsave +xsaveopt;
        corei7-avx: core_2nd_gen_avx;
        sandybridge: core_2nd_gen_avx;
        atom_sse4_2: core_aes_pclmulqdq +fast-7bytenop +fast-imm16 +fast-movbe +movbe +prfchw +rdrnd;
        core-avx-i: core_2nd_gen_avx +f16c +fsgsbase +rdrnd;
        core_3rd_gen_avx: core-avx-i;
        ivybridge: core-avx-i;
        silvermont: atom_sse4_2;
        slm: atom_sse4_2;
        x86-64-v3: core_2nd_gen_avx +avx2 +bmi +bmi2 +f16c +fma +lzcnt +movbe -pclmul -xsaveopt;
        bdver1: core_2nd_gen_avx +aes +fma4 +lwp +lzcnt +prfchw +sbb-dep-breaking +sse4a +xop -xsaveopt;
        btver2: bdver1 +bmi +f16c +fast-imm16 +fast-movbe +movbe +xsaveopt -fma4 -lwp -xop;
        x86-64-v4: x86-64-v3 +avx512bw +avx512cd +avx512dq +avx512f +avx512vl;
        core-avx2: x86-64-v3 +ermsb +fsgsbase +invpcid +pclmul +rdrnd +xsaveopt;
        core_4th_gen_avx: core-avx2;
        core_4th_gen_avx_tsx: core-avx2;
        goldmont: atom_sse4_2 +aes +clflushopt +fsgsbase +rdseed +sha +xsave +xsavec +xsaveopt +xsaves -fast-7bytenop;
        haswell: core-avx2;
        atom_sse4_2_movbe: goldmont +fast-7bytenop;
        bdver2: bdver1 +bmi +f16c +fast-movbe +fma +tbm;
        goldmont-plus: goldmont +ptwrite +rdpid;
        goldmont_plus: goldmont-plus;
        bdver3: bdver2 +fsgsbase +xsaveopt;
        broadwell: core-avx2 +adx +prfchw +rdseed;
        core_5th_gen_avx: broadwell;
        core_5th_gen_avx_tsx: broadwell;
        tremont: goldmont-plus +clwb +gfni;
        knl: broadwell +aes +avx512cd +avx512f +fast-imm16 +fast-movbe -ermsb -invpcid;
        mic_avx512: knl;
        knm: knl +avx512vpopcntdq;
        skylake: broadwell +aes +clflushopt +xsavec +xsaves;
        bdver4: bdver3 +avx2 +bmi2 +movbe +mwaitx +rdrnd;
        znver1: skylake +clzero +fast-imm16 +fast-movbe +mwaitx +sbb-dep-breaking +sha +sse4a -ermsb -invpcid;
        skx: skylake +avx512bw +avx512cd +avx512dq +avx512f +avx512vl +clwb +pku;
        skylake-avx512: skx;
        skylake_avx512: skx;
        cascadelake: skx +avx512vnni;
        cooperlake: cascadelake +avx512bf16;
        znver2: znver1 +clwb +rdpid +rdpru +wbnoinvd;
        cannonlake: skx +avx512ifma +avx512vbmi +sha +slow-pmullq -clwb;
        znver3: znver2 +fsrm +invpcid +pku +vaes +vpclmulqdq;
        gracemont: skylake +avxvnni +clwb +gfni +hreset +kl +movdir64b +movdiri +pconfig +pku +ptwrite +rdpid +serialize
            +sha +shstk +vaes +vpclmulqdq +waitpkg +widekl -ermsb;
        alderlake: gracemont +prefer-movmsk-over-vtest +slow-pmullq;
        icelake-client: cannonlake +avx512bitalg +avx512vbmi2 +avx512vnni +avx512vpopcntdq +fsrm +gfni +rdpid +vaes
            +vpclmulqdq;
        icelake_client: icelake-client;
        meteorlake: alderlake;
        raptorlake: alderlake;
        rocketlake: icelake-client;
        icelake-server: icelake-client +clwb +pconfig +wbnoinvd;
        icelake_server: icelake-server;
        grandridge: gracemont +avxifma +avxneconvert +avxvnniint8 +cldemote +cmpccxadd +enqcmd;
        sierraforest: grandridge;
        arrowlake: grandridge +prefer-movmsk-over-vtest +slow-pmullq -cldemote;
        tigerlake: icelake-client +avx512vp2intersect +clwb +movdir64b +movdiri +shstk;
        pantherlake: arrowlake +avxvnniint16 +sha512 +sm3 +sm4 -kl -widekl;
        wildcatlake: pantherlake;
        arrowlake-s: pantherlake +kl +widekl;
        arrowlake_s: arrowlake-s;
        lunarlake: arrowlake-s;
        znver4: icelake-server +avx512bf16 +clzero +fast-imm16 +fast-movbe +mwaitx +rdpru +sbb-dep-breaking +shstk
            +sse4a -ermsb -pconfig -slow-pmullq;
        clearwaterforest: pantherlake +cldemote +prefetchi +usermsr;
        znver5: znver4 +avx512vp2intersect +avxvnni +movdir64b +movdiri +prefetchi;
        emeraldrapids: icelake-server +amx-bf16 +amx-int8 +amx-tile +avx512bf16 +avx512fp16 +avxvnni +cldemote +enqcmd
            +movdir64b +movdiri +ptwrite +serialize +shstk +tsxldtrk +waitpkg;
        sapphirerapids: emeraldrapids;
        graniterapids: emeraldrapids +amx-fp16 +branch-hint +prefetchi;
        graniterapids-d: graniterapids +amx-complex;
        graniterapids_d: graniterapids-d;
        novalake: pantherlake +avx10.1 +avx10.2 +avx512bf16 +avx512bitalg +avx512bw +avx512cd +avx512dq +avx512f
            +avx512fp16 +avx512ifma +avx512vbmi +avx512vbmi2 +avx512vl +avx512vnni +avx512vpopcntdq +movrs +prefetchi;
        diamondrapids: graniterapids-d +amx-avx512 +amx-fp8 +amx-movrs +amx-tf32 +avx10.1 +avx10.2 +avxifma
            +avxneconvert +avxvnniint16 +avxvnniint8 +cmpccxadd +movrs +sha512 +sm3 +sm4
    """,
    "aarch64": """
        generic: none +enable-select-opt +ete +fuse-adrp-add +fuse-aes +trbe +use-postra-scheduler;
        cortex-a34: none +a35 +aes +crc +el2vmsa +el3 +perfmon +sha2 +v8a;
        cortex-a35: cortex-a34;
        thunderx: cortex-a34 +predictable-select-expensive +store-pair-suppress +thunderx +use-postra-scheduler -a35;
        thunderxt81: thunderx +thunderxt81 -thunderx;
        thunderxt83: thunderx +thunderxt83 -thunderx;
        thunderxt88: thunderx +thunderxt88 -thunderx;
        cortex-a53: cortex-a34 +a53 +balance-fp-ops +fuse-adrp-add +fuse-aes +use-postra-scheduler +use-wzr-to-vec-move
            -a35;
        cortex-a73: cortex-a34 +a73 +addr-lsl-slow-14 +enable-select-opt +fuse-adrp-add +fuse-aes
            +predictable-select-expensive -a35;
        cortex-a72: cortex-a73 +a72 +fuse-literals -a73;
        kryo: thunderx +alu-lsl-fast +kryo +max-interleave-factor-4 +zcz-gpr32 +zcz-gpr64 -thunderx;
        cortex-a57: cortex-a72 +a57 +balance-fp-ops +max-interleave-factor-4 +use-postra-scheduler -a72;
        falkor: kryo +falkor +rdm +slow-strqro-store -kryo;
        carmel: cortex-a34 +CONTEXTIDREL2 +carmel +ccpp +fullfp16 +lor +lse +pan +pan-rwv +ras +rdm +uaops +v8.1a +v8.2a
            +vh -a35 -perfmon;
        exynos-m3: cortex-a57 +alu-lsl-fast +exynos-cheap-as-move +exynosm3 +force-32bit-jump-tables +fuse-address
            +fuse-csel +store-pair-suppress -a57 -addr-lsl-slow-14 -balance-fp-ops -enable-select-opt;
        thunderx2t99: thunderx +CONTEXTIDREL2 +aggressive-fma +arith-bcc-fusion +lor +lse +max-interleave-factor-4 +pan
            +rdm +thunderx2t99 +v8.1a +vh -perfmon -thunderx;
        apple-a7: cortex-a34 +alternate-sextload-cvt-f32-pattern +apple-a7 +arith-bcc-fusion +arith-cbz-fusion
            +disable-latency-sched-heuristic +fuse-aes +fuse-crypto-eor +no-zcz-fpr64 +store-pair-suppress +zcm-fpr128
            +zcm-gpr64 +zcz-fp-workaround +zcz-fpr128 +zcz-gpr32 +zcz-gpr64 -a35 -crc;
        apple-a8: apple-a7;
        apple-a9: apple-a7;
        cyclone: apple-a7;
        apple-a10: apple-a7 +CONTEXTIDREL2 +apple-a10 +crc +lor +pan +rdm +vh -apple-a7 -zcz-fp-workaround;
        neoverse-e1: carmel +dotprod +fuse-adrp-add +fuse-aes +neoversee1 +perfmon +rcpc +ssbs +use-postra-scheduler
            -carmel;
        cortex-a55: neoverse-e1 +a55 +fuse-address +use-wzr-to-vec-move -neoversee1 -ssbs;
        cortex-a75: neoverse-e1 +a75 +addr-lsl-slow-14 +enable-select-opt +predictable-select-expensive -neoversee1
            -ssbs -use-postra-scheduler;
        tsv110: neoverse-e1 +complxnum +fp16fml +jsconv +spe +store-pair-suppress +tsv110 -fuse-adrp-add -neoversee1
            -rcpc -ssbs;
        a64fx: carmel +a64fx +aggressive-fma +arith-bcc-fusion +complxnum +disable-unpredicated-ld-st-lower
            +max-interleave-factor-4 +perfmon +predictable-select-expensive +store-pair-suppress +sve
            +use-postra-scheduler -carmel;
        cortex-a65: cortex-a75 +a65 +fuse-address +fuse-literals +ssbs -a75 -addr-lsl-slow-14;
        cortex-a65ae: cortex-a65;
        cortex-a76: cortex-a75 +a76 +alu-lsl-fast +ssbs -a75;
        cortex-a76ae: cortex-a76;
        cortex-a77: cortex-a76 +a77 +cmp-bcc-fusion -a76;
        cortex-r82: neoverse-e1 +ccdp +complxnum +cortex-r82 +dit +flagm +fp16fml +fpac +jsconv +pauth +predres
            +rcpc-immo +sb +sel2 +specrestrict +tlb-rmi +tracev8.4 +v8r -aes -el2vmsa -el3 -fuse-adrp-add -fuse-aes -lor
            -neoversee1 -sha2 -v8.1a -v8.2a -v8a -vh;
        cortex-r82ae: cortex-r82 +cortex-r82ae -cortex-r82;
        neoverse-n1: cortex-a76 +neoversen1 +spe +use-postra-scheduler -a76;
        cortex-x1: neoverse-n1 +cmp-bcc-fusion +cortex-x1 -neoversen1;
        apple-a11: apple-a10 +apple-a11 +ccpp +fullfp16 +lse +pan-rwv +ras +uaops +v8.1a +v8.2a -apple-a10;
        thunderx3t110: a64fx +balance-fp-ops +ccidx +jsconv +pauth +rcpc +strict-align +thunderx3t110 +v8.3a -a64fx
            -disable-unpredicated-ld-st-lower -fullfp16 -sve;
        cortex-a78: cortex-x1 +a78 +fuse-csel +fuse-cset -cortex-x1;
        cortex-a78ae: cortex-a78 +a78ae -a78;
        cortex-a78c: cortex-a78 +a78c +flagm +pauth -a78;
        cortex-x1c: cortex-x1 +flagm +lse2 +pauth +rcpc-immo;
        exynos-m4: cortex-a55 +alu-lsl-fast +arith-bcc-fusion +arith-cbz-fusion +exynos-cheap-as-move +exynosm4
            +force-32bit-jump-tables +fuse-arith-logic +fuse-csel +fuse-literals +max-interleave-factor-4
            +store-pair-suppress +zcz-gpr32 +zcz-gpr64 -a55 -rcpc -use-wzr-to-vec-move;
        exynos-m5: exynos-m4;
        apple-a12: apple-a11 +apple-a12 +complxnum +jsconv +pauth +rcpc +v8.3a -apple-a11;
        apple-s4: apple-a12;
        apple-s5: apple-a12;
        saphira: thunderx3t110 +alu-lsl-fast +am +dit +dotprod +flagm +lse2 +mpam +nv +rcpc-immo +saphira +sel2 +spe
            +tlb-rmi +tracev8.4 +v8.4a +zcz-gpr32 +zcz-gpr64 -aggressive-fma -arith-bcc-fusion -balance-fp-ops
            -strict-align -thunderx3t110;
        apple-a13: apple-a12 +am +apple-a13 +dit +dotprod +flagm +fp16fml +lse2 +mpam +nv +rcpc-immo +sel2 +sha3
            +tlb-rmi +tracev8.4 +v8.4a -apple-a12;
        apple-s6: apple-a13;
        apple-s7: apple-a13;
        apple-s8: apple-a13;
        neoverse-512tvb: saphira +bf16 +ccdp +enable-select-opt +fp16fml +fpac +fullfp16 +fuse-adrp-add +fuse-aes +i8mm
            +neoverse512tvb +rand +sha3 +sm4 +ssbs +sve -saphira -store-pair-suppress -zcz-gpr32 -zcz-gpr64;
        neoverse-v1: neoverse-512tvb +addr-lsl-slow-14 +disable-maximize-scalable-bandwidth +fuse-csel +fuse-cset
            +neoversev1 +no-sve-fp-ld1r -fpac -max-interleave-factor-4 -neoverse512tvb;
        cortex-a510: neoverse-512tvb +a510 +altnzcv +bti +ete +fptoint +mte +predres +sb +specrestrict +sve-bitperm
            +sve2 +trbe +use-fixed-over-scalable-if-equal-cost +use-wzr-to-vec-move +v8.5a +v9a -aes -alu-lsl-fast
            -enable-select-opt -max-interleave-factor-4 -neoverse512tvb -predictable-select-expensive -rand -sha2 -sha3
            -sm4 -spe;
        cortex-x2: cortex-a510 +alu-lsl-fast +cmp-bcc-fusion +cortex-x2 +enable-select-opt +predictable-select-expensive
            -a510 -use-wzr-to-vec-move;
        apple-a14: apple-a13 +aggressive-fma +altnzcv +apple-a14 +ccdp +fptoint +fuse-address +fuse-arith-logic
            +fuse-csel +fuse-literals +max-interleave-factor-4 +predres +sb +specrestrict +ssbs -apple-a13;
        apple-m1: apple-a14;
        cobalt-100: cortex-x2 +disable-maximize-scalable-bandwidth +fuse-csel +fuse-cset +neoversen2 -cmp-bcc-fusion
            -cortex-x2 -use-fixed-over-scalable-if-equal-cost;
        cortex-a710: cobalt-100 +a710 +cmp-bcc-fusion -disable-maximize-scalable-bandwidth -neoversen2;
        cortex-x3: cortex-x2 +avoid-ldapur +cortex-x3 +spe -cmp-bcc-fusion -cortex-x2;
        neoverse-n2: cobalt-100;
        oryon-1: neoverse-512tvb +altnzcv +amvs +bti +ecv +fgt +fptoint +fuse-address +fuse-crypto-eor +oryon-1 +predres
            +sb +specrestrict +v8.5a +v8.6a -alu-lsl-fast -fpac -neoverse512tvb -predictable-select-expensive -sve;
        cortex-a715: cortex-a710 +a715 +spe -a710;
        ampere1: oryon-1 +aggressive-fma +alu-lsl-fast +ampere1 +arith-bcc-fusion +cmp-bcc-fusion +fuse-literals
            +ldp-aligned-only +store-pair-suppress +stp-aligned-only -enable-select-opt -fp16fml -fuse-crypto-eor
            -oryon-1 -sm4 -spe;
        cortex-a520ae: cortex-a510 +a520ae +amvs +ecv +fgt +hcx +v8.6a +v8.7a +v9.1a +v9.2a +wfxt +xs -a510
            -use-fixed-over-scalable-if-equal-cost;
        ampere1a: ampere1 +ampere1a +fuse-addsub-2reg-const1 +mte +sm4 -ampere1;
        cortex-a320: cortex-a520ae +a320 +aggressive-interleaving +use-fixed-over-scalable-if-equal-cost -a520ae -fpac;
        cortex-a520: cortex-a520ae +a520 +use-fixed-over-scalable-if-equal-cost -a520ae;
        neoverse-v2: cortex-a715 +avoid-ldapur +disable-latency-sched-heuristic +max-interleave-factor-4 +neoversev2
            +rand +use-fixed-over-scalable-if-equal-cost -a715;
        apple-a15: apple-a14 +amvs +apple-a15 +bf16 +bti +ecv +fgt +fpac +fuse-adrp-add +i8mm +v8.5a +v8.6a
            -aggressive-fma -apple-a14;
        apple-m2: apple-a15;
        apple-a16: apple-a15 +apple-a16 +hcx -apple-a15;
        apple-a17: apple-a16 +apple-a17 -apple-a16;
        apple-m3: apple-a16;
        apple-s10: apple-a16;
        apple-s9: apple-a16;
        ampere1b: ampere1a +ampere1b +cssc +enable-select-opt +hcx +predictable-select-expensive +v8.7a +wfxt +xs
            -ampere1a -fuse-addsub-2reg-const1;
        cortex-a720: cortex-a520ae +a720 +alu-lsl-fast +cmp-bcc-fusion +enable-select-opt +fuse-csel +fuse-cset
            +predictable-select-expensive +spe +spe-eef -a520ae -use-wzr-to-vec-move;
        cortex-a720ae: cortex-a720 +a720ae -a720;
        cortex-a725: cortex-a720 +cortex-a725 -a720;
        grace: neoverse-v2 +aes +sha2 +sha3 +sm4 +sve-aes +sve-sha3 +sve-sm4 -rand;
        neoverse-n3: cortex-a720 +neoversen3 +rand -a720 -cmp-bcc-fusion;
        cortex-x4: cortex-a720 +avoid-ldapur +cortex-x4 +use-fixed-over-scalable-if-equal-cost -a720 -cmp-bcc-fusion;
        cortex-x925: cortex-x4 +cortex-x925 -cortex-x4;
        apple-a18: apple-a16 +apple-m4 +sme +sme-f64f64 +sme-i16i64 +sme2 +v8.7a +wfxt +xs -apple-a16 -ssbs
            -store-pair-suppress;
        apple-m4: apple-a18;
        c1-nano: cortex-a520 +c1-nano +chk +clrbhb +hbc +mops +nmi +rcpc3 +sme +sme2 +specres2 +v8.8a +v9.3a -a520;
        neoverse-v3: neoverse-n3 +avoid-ldapur +brbe +ls64 +max-interleave-factor-4 +neoversev3 +rme -neoversen3;
        neoverse-v3ae: neoverse-v3 +neoversev3AE -neoversev3;
        gb10: cortex-x925 +aes +sha2 +sha3 +sm4 +sve-aes +sve-sha3 +sve-sm4;
        apple-a19: apple-a18 +apple-m5 +cssc +hbc +mte +sme-b16b16 +sme-f16f16 +sme2p1 +specres2 +sve-b16b16 -apple-m4;
        apple-m5: apple-a19;
        c1-pro: c1-nano +alu-lsl-fast +c1-pro +cmp-bcc-fusion +enable-select-opt +fuse-csel +fuse-cset
            +predictable-select-expensive +spe +spe-eef -c1-nano -use-fixed-over-scalable-if-equal-cost
            -use-wzr-to-vec-move;
        ampere1c: ampere1b +ampere1c +faminmax +fp16fml +fp8 +fp8fma +lut +sve +sve-aes +sve-b16b16 +sve-sha3 +sve-sm4
            +sve2 +v9.1a +v9.2a +v9a -ampere1b -ldp-aligned-only -stp-aligned-only;
        c1-premium: c1-pro +avoid-ldapur +c1-premium +use-fixed-over-scalable-if-equal-cost -c1-pro -cmp-bcc-fusion;
        c1-ultra: c1-premium +c1-ultra -c1-premium;
        fujitsu-monaka: ampere1c +clrbhb +ete +fp8dot2 +fp8dot4 +fpac +fujitsu-monaka +hbc +ls64 +mec +mops +nmi +rme
            +specres2 +sve-bitperm +trbe +v8.8a +v9.3a -aggressive-fma -alu-lsl-fast -ampere1c -cmp-bcc-fusion -cssc
            -fuse-address -fuse-adrp-add -fuse-aes -fuse-literals -max-interleave-factor-4 -mte -store-pair-suppress
            -sve-b16b16;
        olympus: gb10 +brbe +chk +cmp-bcc-fusion +faminmax +fp8 +fp8dot2 +fp8dot4 +fp8fma +ls64 +lut
            +max-interleave-factor-4 +mec +olympus +rand +rme -avoid-ldapur -cortex-x925 -fuse-csel -fuse-cset
    """,
    "riscv64": """
        generic: none +optimized-nf2-segment-load-store;
        generic-rv64: generic;
        rocket-rv64: none +zicsr +zifencei;
        sifive-s21: rocket-rv64 +a +c +m +zaamo +zalrsc +zca +zmmul;
        sifive-s51: sifive-s21;
        sifive-s54: sifive-s21 +d +f;
        sifive-u54: sifive-s54;
        syntacore-scr3-rv64: sifive-s21 +no-default-unroll +use-postra-scheduler;
        andes-ax25: sifive-s54 +xandesperf;
        syntacore-scr4-rv64: sifive-s54 +no-default-unroll +use-postra-scheduler;
        syntacore-scr5-rv64: syntacore-scr4-rv64;
        sifive-u74: syntacore-scr4-rv64 +short-forward-branch-ialu +sifive7;
        andes-ax45: sifive-u74 +andes45 +xandesperf -sifive7;
        andes-nx45: andes-ax45;
        sifive-s76: sifive-u74 +zihintpause;
        mips-p8700: sifive-s54 +mips-p8700 +xmipscbop +xmipscmov +xmipsexectl +xmipslsp +zba +zbb;
        sifive-p550: syntacore-scr4-rv64 +auipc-addi-fusion +conditional-cmv-fusion +lui-addi-fusion +zba +zbb;
        andes-ax45mpv: andes-ax45 +v +zve32f +zve32x +zve64d +zve64f +zve64x;
        syntacore-scr7: andes-ax45mpv +zba +zbb +zbc +zbkb +zbkc +zbkx +zbs +zkn +zknd +zkne +zknh -andes45
            -short-forward-branch-ialu -xandesperf;
        sifive-x280: andes-ax45mpv +dlen-factor-2 +optimized-nf2-segment-load-store +optimized-zero-stride-load +sifive7
            +vl-dependent-latency +zba +zbb +zfh +zfhmin +zvfh +zvfhmin -andes45 -xandesperf;
        xiangshan-nanhu: syntacore-scr7 +shifted-zextw-fusion +svinval +zexth-fusion +zextw-fusion +zicbom +zicboz
            +zksed +zksh -use-postra-scheduler -v -zve32f -zve32x -zve64d -zve64f -zve64x;
        veyron-v1: sifive-p550 +add-load-fusion +auipc-load-fusion +disable-misched-load-clustering
            +disable-postmisched-load-clustering +disable-postmisched-store-clustering +lui-load-fusion
            +shifted-zextw-fusion +ventana-veyron +xventanacondops +zbc +zbs +zexth-fusion +zextw-fusion +zicbom +zicbop
            +zicboz +zicntr +zihintpause +zihpm -conditional-cmv-fusion -no-default-unroll -use-postra-scheduler;
        sifive-p450: sifive-p550 +b +unaligned-scalar-mem +unaligned-vector-mem +za64rs +zbs +zfhmin +zic64b +zicbom
            +zicbop +zicboz +ziccamoa +ziccif +zicclsm +ziccrse +zihintntl +zihintpause +zihpm +zkt;
        sifive-p670: sifive-p450 +no-sink-splat-operands +v +vxrm-pipeline-flush +zvbb +zvbc +zve32f +zve32x +zve64d
            +zve64f +zve64x +zvkb +zvkg +zvkn +zvknc +zvkned +zvkng +zvknhb +zvks +zvksc +zvksed +zvksg +zvksh +zvkt;
        spacemit-x60: sifive-p450 +dlen-factor-2 +optimized-nf2-segment-load-store +optimized-nf3-segment-load-store
            +optimized-nf4-segment-load-store +ssccptr +sscofpmf +sscounterenw +sstc +sstvala +sstvecd +svade +svbare
            +svinval +svnapot +svpbmt +v +vxrm-pipeline-flush +xsmtvdot +zbc +zbkc +zfh +zicntr +zicond +zve32f +zve32x
            +zve64d +zve64f +zve64x +zvfh +zvfhmin +zvkt -auipc-addi-fusion -conditional-cmv-fusion -lui-addi-fusion
            -no-default-unroll -unaligned-vector-mem -use-postra-scheduler -zihintntl;
        sifive-p470: sifive-p670 +xsifivecdiscarddlone +xsifivecflushdlone;
        sifive-x390: sifive-x280 +b +experimental-zicfilp +experimental-zicfiss +single-element-vec-fp64
            +xsifivecdiscarddlone +xsifivecflushdlone +za64rs +zawrs +zbs +zcb +zcmop +zfa +zfbfmin +zic64b +zicbom
            +zicbop +zicboz +ziccamoa +ziccif +ziccrse +zicntr +zicond +zihintntl +zihintpause +zihpm +zimop +zkr +zkt
            +zvbb +zvfbfmin +zvfbfwma +zvkb +zvkt;
        sifive-p870: sifive-p670 +supm +zama16b +zawrs +zcb +zcmop +zfa +zfbfmin +zfh +zicntr +zicond +zimop +zkr
            +zvfbfmin +zvfbfwma +zvfh +zvfhmin;
        tt-ascalon-d8: spacemit-x60 +h +log-vrgather +no-default-unroll +optimized-nf5-segment-load-store
            +optimized-nf6-segment-load-store +optimized-nf7-segment-load-store +optimized-nf8-segment-load-store
            +optimized-zero-stride-load +sha +shcounterenw +shgatpa +shtvala +shvsatpa +shvstvala +shvstvecd +smaia
            +ssaia +ssnpm +ssstateen +ssstrict +ssu64xl +supm +unaligned-vector-mem +use-postra-scheduler +zawrs +zcb
            +zcmop +zfa +zfbfmin +zihintntl +zimop +zvbb +zvbc +zvfbfmin +zvfbfwma +zvkb +zvkg +zvkn +zvkned +zvkng
            +zvknhb -dlen-factor-2 -vxrm-pipeline-flush -xsmtvdot -zbc -zbkc;
        xiangshan-kunminghu: tt-ascalon-d8 +shifted-zextw-fusion +smcsrind +smdbltrp +smmpm +smnpm +smrnmi +smstateen
            +sscsrind +ssdbltrp +sspm +zacas +zbc +zbkb +zbkc +zbkx +zexth-fusion +zextw-fusion +zkn +zknd +zkne +zknh
            +zks +zksed +zksh -log-vrgather -optimized-nf2-segment-load-store -optimized-nf3-segment-load-store
            -optimized-nf4-segment-load-store -optimized-nf5-segment-load-store -optimized-nf6-segment-load-store
            -optimized-nf7-segment-load-store -optimized-nf8-segment-load-store -optimized-zero-stride-load
            -unaligned-scalar-mem -unaligned-vector-mem -use-postra-scheduler -zfbfmin -zvbc -zvfbfmin -zvfbfwma -zvkg
            -zvkn -zvkned -zvkng -zvknhb
    """,
}
