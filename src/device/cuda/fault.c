/*
 * fault.c - known miscompilations of NVRTC, and how to tell that one has happened.
 *
 *     nvrtc.c: compile > [find] > take the cubin, or compile again with a remedy
 *
 * A fault is looked for in the machine code that the compiler made, whatever the source was. A
 * kernel without the instruction in question costs a scan of its code only. A kernel with it is a
 * suspect; then the PTX, which is correct, shows whether it contains the pattern that is
 * miscompiled.
 *
 * Rule 1: nothing but the compiler's version, the architecture and the compiler's own output
 *         decide, so that equal keys keep meaning equal code; KILN__FAULT_TABLE stands for the
 *         table in keys.
 * Rule 2: when in doubt a kernel is a suspect: a needless remedy only costs a little speed.
 *
 * Instructions have 16 bytes (sm_70 and later). The low 9 bits of the first word are the operation,
 * the next 3 say where the operands come from.
 */
#include "device/cuda/fault.h"

#include <elf.h>
#include <stdlib.h>

enum { INSTRUCTION_BYTES = 16 };

/* ---- machine code ---- */

typedef void (*visit_function)(void *state, uint64_t low, uint64_t high);

/* Call `visit` for every instruction of every function. */
static bool visit_code(const unsigned char *cubin, size_t bytes, visit_function visit, void *state)
{
    Elf64_Ehdr head;
    Elf64_Shdr section;

    if (bytes < sizeof head || memcmp(cubin, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&head, cubin, sizeof head);
    if (head.e_shentsize != sizeof section || head.e_shoff > bytes ||
        (bytes - head.e_shoff) / sizeof section < head.e_shnum)
        return false;
    for (size_t s = 0; s < head.e_shnum; s++) {
        memcpy(&section, cubin + head.e_shoff + s * sizeof section, sizeof section);
        if (section.sh_type != SHT_PROGBITS || (section.sh_flags & SHF_EXECINSTR) == 0)
            continue;
        if (section.sh_offset > bytes || section.sh_size > bytes - section.sh_offset)
            return false;
        const unsigned char *at = cubin + section.sh_offset;
        for (size_t k = 0; k + INSTRUCTION_BYTES <= section.sh_size; k += INSTRUCTION_BYTES) {
            uint64_t word[2];
            memcpy(word, at + k, sizeof word);
            visit(state, word[0], word[1]);
        }
    }
    return true;
}

enum {
    OPERATION_MASK = 0x1ff,
    OPERATION_MIN3 = 0x00f,
    OPERATION_ADD3 = 0x010,
    OPERATION_MAD = 0x024,
    OPERATION_ADD = 0x035,
    FORM_NUMBER_LAST = 2, /* the third operand is in the instruction */
    FORM_NUMBER = 4       /* the second one is */
};

static void count_one(void *state, uint64_t low, uint64_t high)
{
    kiln__code_counts *counts = state;
    const unsigned operation = (unsigned)(low & OPERATION_MASK), form = (unsigned)(low >> 9 & 7);

    counts->instructions++;
    /* Of VIMNMX3, bits 8 and 9 of the second word are the type: u32, s32, u16x2, s16x2. */
    if (operation == OPERATION_MIN3 && (high >> 8 & 1) != 0)
        counts->signed_min3++;
    /* IADD3 negates its operands by bits 72, 63 and 75, IADD by the first two, IMAD its product and
     * its addend by the last two. Where bits 32 to 63 are a number, bit 63 is the number's. */
    const uint64_t second = form == FORM_NUMBER || form == FORM_NUMBER_LAST ? 0 : low >> 63;
    if (operation == OPERATION_ADD3 || operation == OPERATION_ADD)
        counts->negations += high >> 8 & 1;
    if (operation == OPERATION_ADD3 || operation == OPERATION_MAD)
        counts->negations += high >> 11 & 1;
    if (operation == OPERATION_ADD3 || operation == OPERATION_ADD || operation == OPERATION_MAD)
        counts->negations += second;
}

bool kiln__code_count(const void *cubin, size_t bytes, kiln__code_counts *out)
{
    *out = (kiln__code_counts){0};
    return visit_code(cubin, bytes, count_one, out);
}

/* ---- PTX ---- Which registers hold a negated number, or bits of one. */

/* The registers that hold a negated number, and the instructions that must not read one. */
typedef struct ptx_rule {
    bool (*negates)(const char *text, const char *end);
    bool (*wrongs)(const char *text);
} ptx_rule;

typedef struct negated {
    const ptx_rule *rule;
    bool *marks; /* two a number: of %r, then of %rs */
    size_t capacity; /* numbers */
    bool changed;
} negated;

enum { REGISTERS_MOST = 1 << 26 }; /* of a kernel's PTX, which numbers them from 1 */

/* The next register at or behind `p`: its place among the marks, and where it ends. */
static const char *next_register(const char *p, const char *end, size_t *place)
{
    for (; p < end; p++) {
        if (*p != '%' || p + 2 >= end || p[1] != 'r')
            continue;
        const bool narrow = p[2] == 's';
        const char *digits = p + 2 + narrow;
        if (digits < end && *digits >= '0' && *digits <= '9') {
            char *behind;
            const unsigned long number = strtoul(digits, &behind, 10);
            if (number > REGISTERS_MOST) /* no register, but words of a comment */
                continue;
            *place = 2 * (size_t)number + narrow;
            return behind;
        }
    }
    return NULL;
}

static bool begins(const char *text, const char *const *words, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (kiln__starts_with(text, words[k]))
            return true;
    return false;
}

/* Whether the result of an instruction is its operand, or some bits of it. */
static bool hands_on(const char *text)
{
    static const char *const words[] = {"mov.", "cvt.", "prmt.", "shl.",  "shr.", "and.",
                                        "or.",  "bfe.", "bfi.",  "selp.", "shfl."};
    return begins(text, words, KILN_COUNT_OF(words));
}

static bool is_negation(const char *text, const char *end)
{
    static const char *const words[] = {"neg.s32", "neg.s16", "sub."};

    if (!begins(text, words, KILN_COUNT_OF(words)))
        return false;
    if (text[0] == 'n')
        return true;
    const char *comma = memchr(text, ',', (size_t)(end - text)); /* sub d, 0, x */
    return comma != NULL && end - comma > 3 && memcmp(comma, ", 0,", 4) == 0;
}

static bool is_selection(const char *text)
{
    static const char *const words[] = {"min.s", "max.s", "selp."};
    return begins(text, words, KILN_COUNT_OF(words));
}

static bool is_short_negation(const char *text, const char *end)
{
    (void)end;
    return kiln__starts_with(text, "neg.s16");
}

/* Whether an instruction reads the low 16 bits of a register as a signed number. */
static bool widens_short(const char *text)
{
    static const char *const words[] = {"cvt.",     "min.", "max.", "set",  "mul.wide",
                                        "mad.wide", "shr.", "div.", "rem.", "abs."};
    const char *type = begins(text, words, KILN_COUNT_OF(words)) ? strstr(text, ".s16") : NULL;
    return type != NULL && type < text + strcspn(text, " \t;\n");
}

/* Follow one instruction; true when it reads a negated number and must not. */
static bool follow(void *state, const char *text, const char *end)
{
    negated *n = state;
    const bool vector = memchr(text, '{', (size_t)(end - text)) != NULL;
    const char *brace = vector ? memchr(text, '}', (size_t)(end - text)) : NULL;
    const bool copies = hands_on(text), negates = n->rule->negates(text, end);
    const bool wrongs = n->rule->wrongs(text);
    size_t place;
    const char *p = next_register(text, end, &place);

    if (p == NULL || place >= n->capacity)
        return false;
    /* The first register may be no result: predicates and wider numbers have other names. */
    bool given = negates || (wrongs && n->marks[place]);
    const size_t first = place;
    const char *operands = p;
    for (const char *q = p; (q = next_register(q, end, &place)) != NULL;)
        given |= place < n->capacity && n->marks[place];
    if (wrongs && given && !negates)
        return true;
    if (!given || !(copies || negates))
        return false;
    n->changed |= !n->marks[first];
    n->marks[first] = true;
    /* mov.b32 {%rs1, %rs2}, %r1 has several results. */
    for (const char *q = operands;
         brace != NULL && text < brace && (q = next_register(q, brace, &place)) != NULL;)
        if (place < n->capacity) {
            n->changed |= !n->marks[place];
            n->marks[place] = true;
        }
    return false;
}

/* Called with each instruction, without its predicate; true stops. */
typedef bool (*line_function)(void *state, const char *text, const char *end);

static bool any_line(const char *ptx, line_function function, void *state)
{
    const char *const end = ptx + strlen(ptx);

    for (const char *p = ptx; p < end;) {
        const size_t line = strcspn(p, ";\n");
        const char *text = p + strspn(p, " \t");
        if (*text == '@') { /* a predicate */
            text += strcspn(text, " \t;\n");
            text += strspn(text, " \t");
        }
        if (text < p + line && function(state, text, p + line))
            return true;
        p += line + (p + line < end);
    }
    return false;
}

/* One more than the greatest number of a register. */
static size_t room_for(const char *ptx)
{
    const char *const end = ptx + strlen(ptx);
    size_t place, most = 0;

    for (const char *p = ptx; (p = next_register(p, end, &place)) != NULL;)
        most = place > most ? place : most;
    return most + 1;
}

/* Whether the PTX contains the pattern of the rule. */
static bool occurs(const ptx_rule *rule, const char *ptx)
{
    const size_t capacity = room_for(ptx);
    bool found = false;

    negated n = {rule, kiln__calloc(capacity, sizeof *n.marks), capacity, true};
    if (n.marks == NULL)
        return true; /* in doubt */
    while (n.changed && !found) {
        n.changed = false;
        found = any_line(ptx, follow, &n);
    }
    kiln__free(n.marks);
    return found;
}

static bool selects_negated(const char *ptx)
{
    static const ptx_rule rule = {is_negation, is_selection};
    return occurs(&rule, ptx);
}

static bool widens_negated(const char *ptx)
{
    static const ptx_rule rule = {is_short_negation, widens_short};
    return strstr(ptx, "neg.s16") != NULL && occurs(&rule, ptx);
}

static bool is_approximate_half(const char *text, const char *end)
{
    (void)end;
    return kiln__starts_with(text, "tanh.approx.f16") || kiln__starts_with(text, "ex2.approx.f16");
}

static bool masks_short(const char *text)
{
    return kiln__starts_with(text, "and.b16");
}

static bool masks_approximate(const char *ptx)
{
    static const ptx_rule rule = {is_approximate_half, masks_short};
    return strstr(ptx, ".approx.f16") != NULL && occurs(&rule, ptx);
}

/* What a register holds of a float that was converted to 16 bits. */
typedef enum half_state { HALF_NONE, HALF_CONVERTED, HALF_MASKED } half_state;

typedef struct halves {
    unsigned char *state; /* half_state of %r and %rs, by number */
    size_t capacity;
} halves;

static bool converts_to_half(const char *text)
{
    static const char *const types[] = {".f16.f32", ".bf16.f32", "x2.f32"};
    const size_t width = strcspn(text, " \t;\n");

    for (size_t k = 0; k < KILN_COUNT_OF(types); k++) {
        const size_t length = strlen(types[k]);
        if (width > length && memcmp(text + width - length, types[k], length) == 0)
            return kiln__starts_with(text, "cvt.");
    }
    return false;
}

/* Follow one instruction; true when it puts a masked half beside another register. */
static bool follow_halves(void *state, const char *text, const char *end)
{
    halves *h = state;
    const char *comma = memchr(text, ',', (size_t)(end - text));
    const char *open = memchr(text, '{', (size_t)(end - text));
    const bool packs = open != NULL && comma != NULL && comma < open;
    const char *close = open != NULL && !packs ? memchr(open, '}', (size_t)(end - open)) : NULL;
    /* Results stand in front of it. */
    const char *middle = close != NULL ? close : comma != NULL ? comma : end;
    size_t place, from = 0;
    unsigned char given = HALF_NONE;

    for (const char *p = open; packs && (p = next_register(p, end, &place)) != NULL;)
        if (h->state[place] == HALF_MASKED)
            return true;
    const char *second = next_register(middle, end, &from);
    const bool copies = kiln__starts_with(text, "mov.") || kiln__starts_with(text, "cvt.u");
    if (converts_to_half(text))
        given = HALF_CONVERTED;
    else if (second != NULL && copies && !packs)
        given = h->state[from];
    else if (second != NULL && kiln__starts_with(text, "and.b") &&
             next_register(second, end, &place) == NULL && h->state[from] != HALF_NONE)
        given = HALF_MASKED; /* by a number */
    for (const char *p = text; (p = next_register(p, middle, &place)) != NULL;)
        h->state[place] = given;
    return false;
}

static bool packs_masked(const char *ptx)
{
    halves h = {NULL, room_for(ptx)};

    h.state = strstr(ptx, "and.b") != NULL ? kiln__calloc(h.capacity, 1) : NULL;
    if (h.state == NULL)
        return strstr(ptx, "and.b") != NULL; /* in doubt */
    const bool found = any_line(ptx, follow_halves, &h);
    kiln__free(h.state);
    return found;
}

/* ---- the table ---- */

static bool has_signed_min3(const kiln__code_counts *counts)
{
    return counts->signed_min3 > 0;
}

static const struct {
    const char *name;
    int since, until;       /* versions of NVRTC, both included */
    int arch_min, arch_max; /* both included */
    /* Finds it in machine code; NULL: it cannot be seen there, but does not occur without
     * optimisation. */
    bool (*shows)(const kiln__code_counts *counts);
    bool (*asked_for)(const char *ptx);
} faults[] = {
    /* min(min(a, -b), c) becomes VIMNMX3 a, b, c: where two minima or maxima are fused, the second
     * operand's negation is folded into an instruction that has no room for it. */
    {"a minus is lost where VIMNMX3 takes two minima at once", 12060, 13030, 90, 109,
     has_signed_min3, selects_negated},
    /* (int)(short)-x becomes -(int)x, which differs for -32768. */
    {"a negated int16 is widened before it wraps around", 0, 13020, 0, 9999, NULL, widens_negated},
    /* Of {half(x) & mask, y} the mask is lost where F2FP makes the half. */
    {"a mask is lost where a converted half is packed", 12080, 13000, 80, 9999, NULL, packs_masked},
    /* ex2.approx.f16 and tanh.approx.f16 are taken for numbers that no mask changes. */
    {"a mask is lost behind tanh.approx.f16 or ex2.approx.f16", 0, 13050, 0, 9999, NULL,
     masks_approximate},
};

unsigned kiln__fault_suspects(int version, int arch, kiln__remedy remedy, const void *cubin,
                              size_t bytes)
{
    kiln__code_counts counts;
    const bool read = kiln__code_count(cubin, bytes, &counts);
    unsigned suspects = 0;

    for (unsigned k = 0; k < KILN_COUNT_OF(faults); k++) {
        if (version < faults[k].since || version > faults[k].until || arch < faults[k].arch_min ||
            arch > faults[k].arch_max)
            continue;
        if (faults[k].shows != NULL ? !read || faults[k].shows(&counts)
                                    : remedy != KILN__REMEDY_PLAIN)
            suspects |= 1u << k;
    }
    return suspects;
}

const char *kiln__fault_asked_for(unsigned suspects, const char *ptx)
{
    for (unsigned k = 0; k < KILN_COUNT_OF(faults); k++)
        if ((suspects & 1u << k) != 0 &&
            (ptx != NULL ? faults[k].asked_for(ptx) : faults[k].shows != NULL))
            return faults[k].name;
    return NULL;
}
