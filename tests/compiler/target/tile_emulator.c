/* Runs AMX instructions on x86-64 processors that lack them: loaded into a process, it catches the invalid instruction
   and does what Intel's Software Developer's Manual, volume 2, says of it.  It grants arch_prctl(ARCH_REQ_XCOMP_PERM).
   Whoever uses it compiles for a processor of its own with `-mattr=+amx-tile,+amx-int8,+amx-bf16`. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

enum { TILES = 8, ROWS = 16, BYTES = 64 };
static __thread struct {
    int configured, rows[TILES], bytes[TILES];
    uint8_t data[TILES][ROWS][BYTES];
} tiles;

static const int NUMBERS[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static float widened(uint16_t half) {
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

/* The products of a group of four bytes, or of two bfloat16, of `left` and `right`. */
static void accumulate(uint8_t *sum, const uint8_t *left, const uint8_t *right, int is_bf16, int signs) {
    if (is_bf16) {
        float total;
        uint16_t a[2], b[2];
        memcpy(&total, sum, 4), memcpy(a, left, 4), memcpy(b, right, 4);
        for (int i = 0; i < 2; i++)
            total += widened(a[i]) * widened(b[i]);
        memcpy(sum, &total, 4);
        return;
    }
    uint32_t total;
    memcpy(&total, sum, 4);
    for (int i = 0; i < 4; i++)
        total += (uint32_t)((signs & 2 ? (int8_t)left[i] : left[i]) * (signs & 1 ? (int8_t)right[i] : right[i]));
    memcpy(sum, &total, 4);
}

static int multiply(int c, int a, int b, int is_bf16, int signs) {
    if (tiles.bytes[a] / 4 != tiles.rows[b] || tiles.bytes[b] != tiles.bytes[c] || tiles.rows[a] != tiles.rows[c])
        return 0;
    for (int m = 0; m < tiles.rows[c]; m++)
        for (int k = 0; k < tiles.rows[b]; k++)
            for (int n = 0; n < tiles.bytes[c]; n += 4)
                accumulate(&tiles.data[c][m][n], &tiles.data[a][m][4 * k], &tiles.data[b][k][n], is_bf16, signs);
    return 1;
}

static int configure(const uint8_t *memory) {
    memset(&tiles, 0, sizeof tiles);
    if (memory[0] != 1)
        return 0;
    for (int t = 0; t < TILES; t++) {
        uint16_t bytes;
        memcpy(&bytes, memory + 16 + 2 * t, 2);
        tiles.rows[t] = memory[48 + t], tiles.bytes[t] = bytes;
        if (bytes > BYTES || tiles.rows[t] > ROWS || !bytes != !tiles.rows[t])
            return 0;
    }
    return tiles.configured = 1;
}

/* Performs the instruction at `code`; its length, or 0 where it is none of these or would fault. */
static int perform(const uint8_t *code, greg_t *registers) {
    if (code[0] != 0xC4 || (code[1] & 0x1F) != 2)
        return 0;
    int opcode = code[3], prefix = code[2] & 3, modrm = code[4], length = 5;
    int mode = modrm >> 6, reg = modrm >> 3 & 7, rm = modrm & 7, vvvv = ~(code[2] >> 3) & 15;
    if (mode == 3) {
        if (opcode == 0x49 && prefix == 0)
            memset(&tiles, 0, sizeof tiles);
        else if (!tiles.configured)
            return 0;
        else if (opcode == 0x49 && prefix == 3)
            memset(tiles.data[reg], 0, sizeof tiles.data[reg]);
        else if (opcode == 0x5E || (opcode == 0x5C && prefix == 2)) {
            static const int SIGNS[] = {0, 1, 2, 3}; /* NP: uu, 66: us, F3: su, F2: ss */
            return multiply(reg, rm, vvvv, opcode == 0x5C, SIGNS[prefix]) ? length : 0;
        } else
            return 0;
        return length;
    }
    int64_t base = 0, stride = 0;
    int has_base = 1;
    if (rm == 4) {
        int sib = code[length++], index = (sib >> 3 & 7) | (code[1] & 0x40 ? 0 : 8);
        rm = sib & 7;
        stride = index == 4 ? 0 : registers[NUMBERS[index]] << (sib >> 6);
        has_base = !(rm == 5 && mode == 0);
    } else if (rm == 5 && mode == 0)
        has_base = 0, base = (int64_t)(code + 9); /* relative to the next instruction */
    if (has_base)
        base = registers[NUMBERS[rm | (code[1] & 0x20 ? 0 : 8)]];
    int32_t displacement = 0;
    if (mode == 1)
        displacement = (int8_t)code[length++];
    else if (mode == 2 || !has_base)
        memcpy(&displacement, code + length, 4), length += 4;
    uint8_t *memory = (uint8_t *)(base + displacement);
    if (opcode == 0x49 && prefix == 0)
        return configure(memory) ? length : 0;
    if (opcode != 0x4B || !tiles.configured || prefix == 0)
        return 0;
    for (int row = 0; row < tiles.rows[reg]; row++) {
        if (prefix == 2)
            memcpy(memory + row * stride, tiles.data[reg][row], tiles.bytes[reg]);
        else
            memset(tiles.data[reg][row], 0, BYTES), memcpy(tiles.data[reg][row], memory + row * stride, tiles.bytes[reg]);
    }
    return length;
}

static void on_invalid_instruction(int number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    int length = perform((const uint8_t *)registers[REG_RIP], registers);
    if (!length)
        signal(SIGILL, SIG_DFL);
    registers[REG_RIP] += length;
}

static void on_request(int number, siginfo_t *info, void *context) {
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = 0;
}

/* Begins to emulate; 0 on success. */
int begin(void) {
    struct sigaction invalid = {.sa_sigaction = on_invalid_instruction, .sa_flags = SA_SIGINFO};
    struct sigaction request = {.sa_sigaction = on_request, .sa_flags = SA_SIGINFO};
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x1023, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    return sigaction(SIGILL, &invalid, 0) || sigaction(SIGSYS, &request, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}
