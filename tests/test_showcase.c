/*
 * test_showcase.c - the showcase's contact sheet against plain C loops over the same photograph.
 *
 * Runs the real program (../showcase beside this one's folder) on the default device, reads the
 * sheet back and computes two of its pictures again: the film print (broadcast operands, three
 * outputs) and the relief (raw neighbours, two kernels). Where a value falls close to the middle of
 * two bytes, rounding may differ by one step between compilers.
 */
#define _GNU_SOURCE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../examples/image.h"
#include "test_data.h"

enum { MARGIN = 40, GAP = 28, CAPTION = 35, PATH_BYTES = 1024 }; /* as in showcase.c */

static image photo, sheet;
static float *light[3], *tone;

static size_t pixels(void)
{
    return (size_t)photo.width * (size_t)photo.height;
}

static float clamp01(float v)
{
    return v < 0.0f ? 0.0f : v > 1.0f ? 1.0f : v;
}

static float mix(float a, float b, float t)
{
    return a + (b - a) * t;
}

static float smooth(float from, float to, float v)
{
    v = clamp01((v - from) / (to - from));
    return v * v * (3.0f - 2.0f * v);
}

static float luma(size_t at)
{
    return 0.2126f * light[0][at] + 0.7152f * light[1][at] + 0.0722f * light[2][at];
}

/* Panel `k` of the sheet must be `want` (RGB, 0 to 1), to one step of 255. */
static void expect_panel(int k, void (*want)(int x, int y, float rgb[3]))
{
    int left = MARGIN + k % 3 * (photo.width + GAP);
    int top = MARGIN + k / 3 * (photo.height + CAPTION + GAP);
    size_t off_by_one = 0;

    for (int y = 0; y < photo.height; y++) {
        for (int x = 0; x < photo.width; x++) {
            const unsigned char *got =
                sheet.rgb + 3 * ((size_t)(top + y) * (size_t)sheet.width + (size_t)(left + x));
            float rgb[3];
            want(x, y, rgb);
            for (int c = 0; c < 3; c++) {
                int byte = (int)(255.0f * clamp01(rgb[c]) + 0.5f);
                if (abs(byte - got[c]) > 1)
                    fail_msg("panel %d, pixel (%d, %d), channel %d: want %d, got %d", k + 1, x, y,
                             c, byte, got[c]);
                off_by_one += byte != got[c];
            }
        }
    }
    if (off_by_one > pixels() / 50)
        fail_msg("panel %d: %zu of %zu values are off by one", k + 1, off_by_one, 3 * pixels());
}

static void want_photo(int x, int y, float rgb[3])
{
    for (int c = 0; c < 3; c++)
        rgb[c] = photo.rgb[3 * ((size_t)y * (size_t)photo.width + (size_t)x) + (size_t)c] / 255.0f;
}

static float falloff(int at, int count)
{
    float t = (float)(-1.0 + 2.0 * at / (count - 1));
    return 1.0f - 0.45f * t * t * t * t - 0.15f * t * t;
}

static void want_print(int x, int y, float rgb[3])
{
    size_t at = (size_t)y * (size_t)photo.width + (size_t)x;
    float exposure = 0.9f * falloff(x, photo.width) * falloff(y, photo.height);
    float v = exposure * luma(at);
    float film = v * (2.51f * v + 0.03f) / (v * (2.43f * v + 0.59f) + 0.14f);
    float gain = exposure * film / fmaxf(v, 1e-6f), warm = smooth(0.02f, 0.5f, v);

    rgb[0] = sqrtf(light[0][at] * gain * mix(0.70f, 1.05f, warm));
    rgb[1] = sqrtf(light[1][at] * gain * mix(1.00f, 0.98f, warm) + 0.005f * (1.0f - warm));
    rgb[2] = sqrtf(light[2][at] * gain * mix(1.40f, 0.90f, warm) + 0.025f * (1.0f - warm));
}

/* The tone beside a pixel, repeated beyond the edges. */
static float beside(int x, int y)
{
    x = x < 0 ? 0 : x >= photo.width ? photo.width - 1 : x;
    y = y < 0 ? 0 : y >= photo.height ? photo.height - 1 : y;
    return tone[(size_t)y * (size_t)photo.width + (size_t)x];
}

static void want_relief(int x, int y, float rgb[3])
{
    float dx = 0.0f, dy = 0.0f;
    for (int k = -1; k <= 1; k++) {
        float weight = k == 0 ? 2.0f : 1.0f;
        dx += weight * (beside(x + 1, y + k) - beside(x - 1, y + k));
        dy += weight * (beside(x + k, y + 1) - beside(x + k, y - 1));
    }
    float nx = -1.5f * dx, ny = -1.5f * dy;
    float shade = fmaxf(0.63f - 0.55f * nx - 0.55f * ny, 0.0f) / sqrtf(nx * nx + ny * ny + 1.0f);
    float t = beside(x, y), sun = mix(0.25f, 1.35f, shade);
    float low = smooth(0.0f, 0.45f, t), high = smooth(0.4f, 1.0f, t);

    rgb[0] = sun * mix(mix(0.05f, 0.16f, low), 0.99f, high);
    rgb[1] = sun * mix(mix(0.10f, 0.45f, low), 0.93f, high);
    rgb[2] = sun * mix(mix(0.22f, 0.50f, low), 0.76f, high);
}

static void test_showcase__photograph_is_copied_exactly(void **state)
{
    (void)state;
    expect_panel(0, want_photo);
}

static void test_showcase__film_print_is_what_plain_c_makes(void **state)
{
    (void)state;
    expect_panel(1, want_print);
}

static void test_showcase__relief_is_what_plain_c_makes(void **state)
{
    (void)state;
    expect_panel(3, want_relief);
}

/* Run the showcase; then bring photograph and sheet into memory. */
static int make_sheet(void **state)
{
    char self[PATH_BYTES - 16] = "", program[PATH_BYTES], source[PATH_BYTES];
    char out[] = "/tmp/kiln_test_showcase_XXXXXX.png";
    int status = 0, file = mkstemps(out, 4);
    (void)state;

    if (file < 0 || readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return -1;
    close(file);
    *strrchr(self, '/') = '\0';
    snprintf(program, sizeof program, "%s/../showcase", self);
    test_data("../examples/data/coffee.png", source, sizeof source);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execl(program, "showcase", "--no-times", out, source, (char *)NULL);
        _exit(98);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        return -1;
    bool loaded = image_read_png(source, &photo) && image_read_png(out, &sheet);
    unlink(out);
    if (!loaded)
        return -1;

    for (int c = 0; c < 3; c++)
        light[c] = calloc(pixels(), sizeof(float));
    tone = calloc(pixels(), sizeof(float));
    for (size_t k = 0; k < pixels(); k++) {
        for (int c = 0; c < 3; c++) {
            float v = photo.rgb[3 * k + (size_t)c] / 255.0f;
            light[c][k] = v * v;
        }
        tone[k] = sqrtf(luma(k));
    }
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    for (int c = 0; c < 3; c++)
        free(light[c]);
    free(tone);
    image_clear(&photo);
    image_clear(&sheet);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_showcase__photograph_is_copied_exactly),
        cmocka_unit_test(test_showcase__film_print_is_what_plain_c_makes),
        cmocka_unit_test(test_showcase__relief_is_what_plain_c_makes),
    };
    return cmocka_run_group_tests(tests, make_sheet, free_all);
}
