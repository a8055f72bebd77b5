/*
 * frame.c - how much local memory a thread of a kernel takes, as the cubin tells.
 *
 *     nvrtc.c: compile > take the cubin > [frame] > jit
 *
 * Section ".nv.info" is a list of attributes: a format, a number, two bytes of value or, where the format
 * says so, of the size of what follows. One attribute of each function is its symbol and the bytes of its
 * frame, in which lie registers that a thread has no room for and arrays that it indexes.
 */
#include "device/cuda/frame.h"

#include <elf.h>

enum { HEAD_BYTES = 4, FORMAT_SIZED = 4, NUMBER_FRAME = 0x11 };

typedef struct image {
    const unsigned char *at;
    size_t bytes;
    Elf64_Ehdr head;
} image;

static bool read_head(image *m)
{
    if (m->bytes < sizeof m->head || memcmp(m->at, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&m->head, m->at, sizeof m->head);
    return m->head.e_shentsize == sizeof(Elf64_Shdr) && m->head.e_shoff <= m->bytes &&
           (m->bytes - m->head.e_shoff) / sizeof(Elf64_Shdr) >= m->head.e_shnum;
}

static bool read_section(const image *m, size_t nth, Elf64_Shdr *out)
{
    if (nth >= m->head.e_shnum)
        return false;
    memcpy(out, m->at + m->head.e_shoff + nth * sizeof *out, sizeof *out);
    return out->sh_type != SHT_NOBITS && out->sh_offset <= m->bytes &&
           out->sh_size <= m->bytes - out->sh_offset;
}

static bool is_named(const image *m, const Elf64_Shdr *names, const Elf64_Shdr *section,
                     const char *name)
{
    const size_t bytes = strlen(name) + 1;

    return section->sh_name <= names->sh_size && names->sh_size - section->sh_name >= bytes &&
           memcmp(m->at + names->sh_offset + section->sh_name, name, bytes) == 0;
}

static size_t largest_in(const unsigned char *at, size_t bytes)
{
    size_t largest = 0, step = HEAD_BYTES;

    for (; bytes >= HEAD_BYTES; at += step, bytes -= step) {
        uint16_t size = 0;
        uint32_t frame = 0;
        memcpy(&size, at + 2, sizeof size);
        step = HEAD_BYTES + (at[0] == FORMAT_SIZED ? size : 0u);
        if (step > bytes)
            break;
        if (at[0] != FORMAT_SIZED || at[1] != NUMBER_FRAME || size < 2 * sizeof frame)
            continue;
        memcpy(&frame, at + HEAD_BYTES + sizeof frame, sizeof frame);
        largest = frame > largest ? frame : largest;
    }
    return largest;
}

size_t kiln__cubin_frame(const void *cubin, size_t bytes)
{
    image m = {.at = cubin, .bytes = bytes};
    Elf64_Shdr names, section;
    size_t largest = 0;

    if (!read_head(&m) || !read_section(&m, m.head.e_shstrndx, &names))
        return 0;
    for (size_t s = 0; s < m.head.e_shnum; s++) {
        if (!read_section(&m, s, &section) || !is_named(&m, &names, &section, ".nv.info"))
            continue;
        const size_t here = largest_in(m.at + section.sh_offset, section.sh_size);
        largest = here > largest ? here : largest;
    }
    return largest;
}
