/*
 * sink.c - text that becomes a file bit by bit.
 *
 *     csv.c trace.c -> [open, added, flush, close] -> a file
 *
 * The text is kept in memory that belongs to this process and not to stdio: a forked child that ends
 * by exit() must not write what its parent has begun.
 *
 * Rule: a JSON file is locked while it is added to. Processes that were given one path share the file.
 */
#define _GNU_SOURCE
#include "observe/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

/* So much text is kept before it is written. */
#define KEPT_BYTES ((size_t)1 << 20)

static const char array_end[] = "\n]\n";

kiln_status kiln__sink_open(kiln__sink *sink, const char *path, bool json, bool fresh,
                            kiln_error *err)
{
    *sink = (kiln__sink){.json = json, .text = KILN__BUF_INIT};
    sink->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | (fresh ? O_TRUNC : 0), 0666);
    if (sink->fd < 0)
        return kiln__fail(err, KILN_ERR_IO, "\"%.300s\" cannot be written: %s", path,
                          strerror(errno));
    sink->path = kiln__strdup(path);
    if (sink->path != NULL)
        return KILN_OK;
    (void)close(sink->fd);
    return kiln__fail_memory(err, strlen(path));
}

/* Write the text over the end of the array, and the end again. */
static int write_elements(kiln__sink *sink)
{
    const off_t bytes = lseek(sink->fd, 0, SEEK_END), end = (off_t)strlen(array_end);

    kiln__buf_puts(&sink->text, array_end);
    if (bytes < 0 || sink->text.failed)
        return bytes < 0 ? errno : ENOMEM;
    if (bytes <= end)
        return lseek(sink->fd, 0, SEEK_SET) < 0 ? errno : kiln__write_all(sink->fd, "[\n", 2);
    if (lseek(sink->fd, bytes - end, SEEK_SET) < 0)
        return errno;
    return kiln__write_all(sink->fd, ",\n", 2);
}

static void write_out(kiln__sink *sink)
{
    int error = sink->text.failed ? ENOMEM : 0;

    if (sink->text.length > 0 && error == 0) {
        if (sink->json) {
            (void)flock(sink->fd, LOCK_EX);
            error = write_elements(sink);
        }
        if (error == 0)
            error = kiln__write_all(sink->fd, sink->text.text, sink->text.length);
        if (sink->json)
            (void)flock(sink->fd, LOCK_UN);
    }
    if (sink->error == 0)
        sink->error = error;
    kiln__buf_clear(&sink->text);
}

void kiln__sink_added(kiln__sink *sink)
{
    if (sink->text.length >= KEPT_BYTES || sink->text.failed)
        write_out(sink);
}

kiln_status kiln__sink_flush(kiln__sink *sink, kiln_error *err)
{
    write_out(sink);
    const int error = sink->error;
    sink->error = 0;
    return error == 0 ? KILN_OK
                      : kiln__fail(err, KILN_ERR_IO, "\"%.300s\" cannot be written: %s", sink->path,
                                   strerror(error));
}

void kiln__sink_close(kiln__sink *sink)
{
    (void)close(sink->fd);
    kiln__free(sink->path);
    kiln__buf_clear(&sink->text);
}
