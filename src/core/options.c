/*
 * options.c - option structs that grow from version to version.
 *
 * Every options struct begins with its size as its caller compiled it. A caller older than the
 * library gives fewer bytes: the fields it does not know keep their defaults. A newer caller gives
 * more: fine as long as what we do not know is zero, which by contract means "default".
 */
#include "core/core.h"

/* A size beyond this is an uninitialised struct, not a newer one: reading that far would fault. */
#define OPTIONS_BYTES_MAX ((size_t)4096)

/* The macro that begins a struct of this type: KILN_X_OPTIONS_INIT for kiln_x_options. */
static void init_macro(const char *type_name, char *out, size_t capacity)
{
    size_t k = 0;
    for (; type_name[k] != '\0' && k + sizeof "_INIT" < capacity; k++) {
        const bool lower = type_name[k] >= 'a' && type_name[k] <= 'z';
        out[k] = (char)(lower ? type_name[k] - 'a' + 'A' : type_name[k]);
    }
    memcpy(out + k, "_INIT", sizeof "_INIT");
}

kiln_status kiln__options_read(void *known_opts, size_t known, const void *given_opts, size_t given,
                               const char *type_name, kiln_error *err)
{
    const unsigned char *bytes = given_opts;
    char macro[64];

    if (given_opts == NULL)
        return KILN_OK;
    if (given < sizeof(size_t) || given > OPTIONS_BYTES_MAX) {
        init_macro(type_name, macro, sizeof macro);
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s has struct_size %zu; begin with %s",
                          type_name, given, macro);
    }
    for (size_t k = known; k < given; k++) {
        if (bytes[k] != 0)
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "%s sets byte %zu, but this version of kiln knows only %zu bytes",
                              type_name, k, known);
    }
    memcpy(known_opts, given_opts, given < known ? given : known);
    /* From here on the struct is one of ours. */
    memcpy(known_opts, &known, sizeof known);
    return KILN_OK;
}

void kiln__options_init(void *opts, size_t given)
{
    if (opts == NULL || given < sizeof given)
        return;
    memset(opts, 0, given); /* zero is the default of each field */
    memcpy(opts, &given, sizeof given);
}
