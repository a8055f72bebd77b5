/*
 * room.c - compile a kernel again whose registers did not suffice.
 *
 *     emit > compile > [frame? > emit a roomier form > compile] > store
 *
 * How many registers the threads of a row program need is estimated when it is planned, and what a compiler
 * keeps for later is its own choice: of two programs of one shape one may have no local memory and the other
 * 500 bytes a thread. Only the image tells. A kernel that has more than FRAME_BYTES is compiled again from its
 * roomier forms, one after the other, until one has no more, and the one with the least is taken.
 *
 * Rule 1: the source and the compiler's output alone decide, and the image is kept under the key of the
 *         source as planned: who finds it there does without all of this.
 * Rule 2: forms differ in nothing that a launch depends on.
 *
 * build.c calls this file. Test: test_row_frames.
 */
#include "jit/room.h"

/* Large frames cost up to half of the speed (bench/results/rows-machine-code.txt); small ones are words that are
 * put away before the elements are loaded, or between two stages. */
enum { FRAME_BYTES = 96 };

/* Code for debuggers keeps everything in local memory. */
static bool is_for_debuggers(const kiln__compile_request *request)
{
    bool debug = false;

    for (size_t k = 0; k < request->option_count; k++) {
        const char *const name = request->options[k] + strspn(request->options[k], "-");
        debug = debug || strcmp(name, "G") == 0 || strcmp(name, "device-debug") == 0;
    }
    return debug;
}

/* Compile one form and take its image if its frame is smaller. `*last` is the text before it. */
static kiln_status try_form(const kiln__definition *def, const kiln__source *tight, int form,
                            kiln__compile_request *request, kiln__source *last,
                            kiln__compile_result *result, kiln_error *err)
{
    kiln__compile_result other = KILN__COMPILE_RESULT_INIT;
    kiln__source roomier = KILN__SOURCE_INIT;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__emit_roomier(def, tight, form, &roomier, err));
    if (last->text != NULL && strcmp(roomier.text, last->text) == 0)
        goto done;
    request->source = roomier.text;
    KILN_TRY(kiln__compile(request, &other, err));
    if (other.frame_bytes < result->frame_bytes) {
        const kiln__compile_result larger = *result;
        *result = other;
        other = larger;
    }

done:
    kiln__compile_result_clear(&other);
    kiln__source_clear(last);
    *last = roomier;
    return status;
}

kiln_status kiln__jit_make_room(const kiln__definition *def, const kiln__source *tight,
                                const kiln__compile_request *request,
                                kiln__compile_result *result, kiln_error *err)
{
    kiln__compile_request again = *request;
    kiln__source last = KILN__SOURCE_INIT;
    kiln_status status = KILN_OK;

    for (int form = 1; form <= tight->rooms && result->frame_bytes > FRAME_BYTES &&
                       !is_for_debuggers(request) && status == KILN_OK;
         form++)
        status = try_form(def, tight, form, &again, &last, result, err);
    kiln__source_clear(&last);
    if (status != KILN_ERR_COMPILE)
        return status;
    kiln_error_clear(err); /* The compiler has taken the form that was planned. */
    return KILN_OK;
}
