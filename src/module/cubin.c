/*
 * cubin.c - what the ELF of a cubin tells of its kernels.
 *
 * Drivers before CUDA 12.4 do not tell how many parameters a kernel has, and how large they are; the
 * image does, in its section ".nv.info.KERNEL". That section is a list of attributes: a format and a
 * code of one byte each, then two bytes that are the value, or the size of the value that follows.
 * A parameter has its number, its offset and its size; they are listed in any order.
 *
 * Rule: the bytes may come from anywhere. Every offset is checked against what is there, and nothing is
 *       read but by memcpy: an image need not be aligned.
 */
#include <elf.h>

#include "module/module.h"

enum { MACHINE_CUDA = 190, SYMBOL_IS_KERNEL = 0x10 };
enum { FORMAT_SIZED = 4, CODE_PARAM = 0x17, CODE_PARAM_LARGE = 0x45 };

#define INFO_PREFIX ".nv.info."

typedef struct image {
    const unsigned char *data;
    size_t bytes;
    Elf64_Ehdr head;
} image;

static bool in_image(const image *i, uint64_t offset, uint64_t bytes)
{
    return offset <= i->bytes && bytes <= i->bytes - offset;
}

static bool read_section(const image *i, size_t nth, Elf64_Shdr *out)
{
    if (nth >= i->head.e_shnum)
        return false;
    memcpy(out, i->data + i->head.e_shoff + nth * sizeof *out, sizeof *out);
    return out->sh_type == SHT_NOBITS || in_image(i, out->sh_offset, out->sh_size);
}

/* The text at `at` of a section of texts, or NULL where it does not end there. */
static const char *read_text(const image *i, size_t section, uint64_t at)
{
    Elf64_Shdr texts;

    if (!read_section(i, section, &texts) || texts.sh_type == SHT_NOBITS || at >= texts.sh_size)
        return NULL;
    const char *text = (const char *)i->data + texts.sh_offset + at;
    return memchr(text, '\0', (size_t)(texts.sh_size - at)) != NULL ? text : NULL;
}

static kiln_status open_image(const void *data, size_t bytes, image *i, kiln_error *err)
{
    *i = (image){.data = data, .bytes = bytes};
    if (bytes < sizeof i->head || memcmp(data, ELFMAG, SELFMAG) != 0)
        return kiln__fail(err, KILN_ERR_FORMAT, "%zu bytes are no cubin", bytes);
    memcpy(&i->head, data, sizeof i->head);
    if (i->head.e_ident[EI_CLASS] != ELFCLASS64 || i->head.e_ident[EI_DATA] != ELFDATA2LSB ||
        i->head.e_machine != MACHINE_CUDA)
        return kiln__fail(err, KILN_ERR_FORMAT, "an ELF file for machine %u, which is no GPU",
                          i->head.e_machine);
    if (i->head.e_shentsize != sizeof(Elf64_Shdr) ||
        !in_image(i, i->head.e_shoff, (uint64_t)i->head.e_shnum * sizeof(Elf64_Shdr)) ||
        !in_image(i, i->head.e_phoff, (uint64_t)i->head.e_phnum * i->head.e_phentsize))
        return kiln__fail(err, KILN_ERR_FORMAT,
                          "a cubin that is cut off: its tables end beyond its "
                          "%zu bytes",
                          bytes);
    for (size_t k = 0; k < i->head.e_shnum; k++) {
        Elf64_Shdr section;
        if (!read_section(i, k, &section))
            return kiln__fail(err, KILN_ERR_FORMAT,
                              "a cubin that is cut off: section %zu ends beyond its %zu bytes", k,
                              bytes);
    }
    return KILN_OK;
}

kiln_status kiln__cubin_check(const void *data, size_t bytes, kiln_error *err)
{
    image i;

    return open_image(data, bytes, &i, err);
}

/* ---- kernels ---- */

/* The nth kernel among a table's symbols, counted down in `*nth`. */
static const char *find_kernel(const image *i, const Elf64_Shdr *table, size_t *nth)
{
    for (uint64_t at = 0; table->sh_size - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, i->data + table->sh_offset + at, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || (symbol.st_other & SYMBOL_IS_KERNEL) == 0)
            continue;
        const char *name = read_text(i, table->sh_link, symbol.st_name);
        if (name != NULL && name[0] != '\0' && (*nth)-- == 0)
            return name;
    }
    return NULL;
}

const char *kiln__cubin_kernel(const void *data, size_t bytes, size_t nth)
{
    const char *found = NULL;
    image i;

    if (open_image(data, bytes, &i, NULL) != KILN_OK)
        return NULL;
    for (size_t k = 0; k < i.head.e_shnum && found == NULL; k++) {
        Elf64_Shdr section;
        if (read_section(&i, k, &section) && section.sh_type == SHT_SYMTAB)
            found = find_kernel(&i, &section, &nth);
    }
    return found;
}

/* ---- parameters ---- */

/* One attribute that tells of a parameter: its index, which is not used, its number and offset, and
 * a word whose upper bits, or all of which, are its size. */
static bool take_param(const unsigned char *value, bool large, kiln__raw_param *params,
                       uint32_t *seen, size_t *count)
{
    uint16_t number, offset;
    uint32_t word;

    memcpy(&number, value + 4, sizeof number);
    memcpy(&offset, value + 6, sizeof offset);
    memcpy(&word, value + 8, sizeof word);
    if (number >= KILN__RAW_PARAMS_MAX || (seen[number / 32] & 1u << number % 32) != 0)
        return false;
    seen[number / 32] |= 1u << number % 32;
    params[number] = (kiln__raw_param){offset, large ? word : word >> 18, 0};
    (*count)++;
    return params[number].bytes > 0;
}

/* All numbers from 0 on must be there: a list with a gap is no list of parameters. */
static bool read_params(const unsigned char *at, uint64_t bytes, kiln__raw_param *params,
                        size_t *count)
{
    enum { VALUE_BYTES = 12 };
    uint32_t seen[KILN__RAW_PARAMS_MAX / 32] = {0};

    while (bytes >= 4) {
        uint16_t size;
        memcpy(&size, at + 2, sizeof size);
        const uint64_t step = 4 + (at[0] == FORMAT_SIZED ? (uint64_t)size : 0);
        if (step > bytes)
            return false;
        if (at[0] == FORMAT_SIZED && (at[1] == CODE_PARAM || at[1] == CODE_PARAM_LARGE) &&
            (size != VALUE_BYTES ||
             !take_param(at + 4, at[1] == CODE_PARAM_LARGE, params, seen, count)))
            return false;
        at += step;
        bytes -= step;
    }
    for (size_t k = 0; k < *count; k++)
        if ((seen[k / 32] & 1u << k % 32) == 0)
            return false;
    return true;
}

kiln_status kiln__cubin_params(const void *data, size_t bytes, const char *kernel,
                               kiln__raw_param *params, size_t *count_out, kiln_error *err)
{
    image i;
    kiln_status status = open_image(data, bytes, &i, err);

    *count_out = 0;
    for (size_t k = 0; status == KILN_OK && k < i.head.e_shnum; k++) {
        Elf64_Shdr section;
        const char *name = NULL;
        if (read_section(&i, k, &section) && section.sh_type != SHT_NOBITS)
            name = read_text(&i, i.head.e_shstrndx, section.sh_name);
        if (name == NULL || strncmp(name, INFO_PREFIX, strlen(INFO_PREFIX)) != 0 ||
            strcmp(name + strlen(INFO_PREFIX), kernel) != 0)
            continue;
        if (read_params(i.data + section.sh_offset, section.sh_size, params, count_out))
            return KILN_OK;
        *count_out = 0;
        return kiln__fail(err, KILN_ERR_FORMAT,
                          "the cubin's list of the parameters of \"%.200s\" is damaged", kernel);
    }
    return status != KILN_OK
               ? status
               : kiln__fail(err, KILN_ERR_NAME,
                            "the cubin lists no parameters of a kernel \"%.200s\"", kernel);
}
