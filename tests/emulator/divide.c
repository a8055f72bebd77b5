/*
 * divide.c - integer division by zero, which stops no kernel on a GPU.
 *
 * An x86 processor signals it, and the most negative integer divided by -1 as well. The handler puts
 * a GPU's result into the registers and goes on behind the instruction. Processors of other kinds
 * (ARM) signal nothing.
 */
#define _GNU_SOURCE
#include "emulator.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

#if defined(__x86_64__)

/* How many bytes the operand of an instruction takes whose ModRM byte is at `p`, that byte included. */
static size_t operand_bytes(const unsigned char *p)
{
    const unsigned mode = p[0] >> 6, base = p[0] & 7;
    const size_t index = mode != 3 && base == 4;

    if (mode == 3)
        return 1;
    if (mode == 1)
        return 2 + index;
    if (mode == 2)
        return 5 + index;
    return 1 + index + (base == 5 || (index && (p[1] & 7) == 5) ? 4 : 0);
}

/* Give the registers of a division that was signalled their results; false: it is no division. */
static bool divide(greg_t *registers)
{
    const unsigned char *p = (const unsigned char *)(uintptr_t)registers[REG_RIP];
    bool wide = false;

    while (*p == 0x66 || *p == 0x2e || *p == 0x3e)
        p++;
    if ((*p & 0xf0) == 0x40)
        wide = (*p++ & 8) != 0;
    if ((*p != 0xf6 && *p != 0xf7) || (p[1] >> 3 & 7) < 6)
        return false;
    const bool is_signed = (p[1] >> 3 & 7) == 7;
    const uint64_t low = (uint64_t)registers[REG_RAX] & (wide ? UINT64_MAX : UINT32_MAX);
    const uint64_t least = wide ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
    if (*p == 0xf6) {
        registers[REG_RAX] |= 0xffff;
    } else if (is_signed && low == least) {
        registers[REG_RAX] = (greg_t)least;
        registers[REG_RDX] = 0;
    } else {
        registers[REG_RAX] = (greg_t)(wide ? UINT64_MAX : UINT32_MAX);
        registers[REG_RDX] = (greg_t)low;
    }
    p++;
    registers[REG_RIP] = (greg_t)(uintptr_t)(p + operand_bytes(p));
    return true;
}

static struct sigaction before;

static void handle(int number, siginfo_t *info, void *context)
{
    ucontext_t *at = context;

    (void)info;
    if (emu_now != NULL && divide(at->uc_mcontext.gregs))
        return;
    sigaction(number, &before, NULL); /* not a kernel's: it comes again, for whoever was there */
}

void emu_divide_begin(void)
{
    static bool done;
    struct sigaction action;

    if (done)
        return;
    done = true;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGFPE, &action, &before);
}

#else

void emu_divide_begin(void)
{
}

#endif
