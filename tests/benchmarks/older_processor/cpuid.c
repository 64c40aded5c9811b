/* Lets CPUID fault, and answers without the features that an older processor lacks.

   OLDER_PROCESSOR names it: "skylake-avx512" has AVX-512 F, CD, BW, DQ and VL alone, "haswell" none of it. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_SET_CPUID 0x1012
#define BIT(n) (1u << (n))

/* Leaf 7: AVX-512 F, DQ, IFMA, PF, ER, CD, BW and VL. */
static const unsigned AVX512 = BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31);
static const unsigned IFMA = BIT(21);
/* VBMI, VBMI2, GFNI, VAES, VPCLMULQDQ, VNNI, BITALG and VPOPCNTDQ. */
static const unsigned LATER_C = BIT(1) | BIT(6) | BIT(8) | BIT(9) | BIT(10) | BIT(11) | BIT(12) | BIT(14);
/* VP2INTERSECT, AMX-BF16, AVX512-FP16, AMX-TILE and AMX-INT8. */
static const unsigned LATER_D = BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25);

static unsigned hidden;

static void answer(int number, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)r[REG_RIP];
    unsigned a = r[REG_RAX], b, c = r[REG_RCX], d, leaf = a, part = c;
    (void)info;
    if (code[0] != 0x0f || code[1] != 0xa2) { /* any other fault is one of the program's */
        signal(number, SIG_DFL);
        return;
    }
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
    if (leaf == 7 && part == 0) {
        b &= ~hidden;
        c &= ~LATER_C;
        d &= ~LATER_D;
    } else if (leaf == 7) {
        a = b = c = d = 0; /* AVX-VNNI, AVX512-BF16 and what came after */
    }
    r[REG_RAX] = a, r[REG_RBX] = b, r[REG_RCX] = c, r[REG_RDX] = d;
    r[REG_RIP] += 2;
}

__attribute__((constructor)) static void start(void)
{
    const char *processor = getenv("OLDER_PROCESSOR");
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (!processor)
        return;
    hidden = strcmp(processor, "haswell") ? IFMA : AVX512;
    sigaction(SIGSEGV, &action, NULL);
    if (syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0)) {
        perror("older_processor: CPUID cannot be hidden here");
        exit(1);
    }
}
