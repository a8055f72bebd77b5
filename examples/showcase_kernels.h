/*
 * showcase_kernels.h - the snippets of showcase.c, as a user of kiln writes them.
 *
 * Pictures are planes of shape (height, width). `raw` planes are read at any index; `i` is the
 * pixel's linear index.
 */
#ifndef EXAMPLES_SHOWCASE_KERNELS_H
#define EXAMPLES_SHOWCASE_KERNELS_H

/* What every snippet below may call. */
#define PREAMBLE                                                                                   \
    "__device__ inline float clamp01(float v) { return fminf(fmaxf(v, 0.0f), 1.0f); }\n"           \
    "__device__ inline float mix(float a, float b, float t) { return a + (b - a) * t; }\n"         \
    "__device__ inline float smooth(float from, float to, float v)\n"                              \
    "{\n"                                                                                          \
    "    v = clamp01((v - from) / (to - from));\n"                                                 \
    "    return v * v * (3.0f - 2.0f * v);\n"                                                      \
    "}\n"                                                                                          \
    "// Linear light and back: gamma 2 is near enough to a screen's curve, and its inverse is\n"   \
    "// cheap.\n"                                                                                  \
    "__device__ inline float to_light(float v) { return v * v; }\n"                                \
    "__device__ inline float to_screen(float v) { return sqrtf(fmaxf(v, 0.0f)); }\n"               \
    "__device__ inline unsigned char to_byte(float v)\n"                                           \
    "{\n"                                                                                          \
    "    return (unsigned char)(255.0f * clamp01(v) + 0.5f);\n"                                    \
    "}\n"                                                                                          \
    "__device__ inline int clamp_to(int v, int end) { return v < 0 ? 0 : v < end ? v : end - 1; }\n"

/* Three strided bytes in, four planes out. */
#define DEVELOP_IN "uint8 r8, uint8 g8, uint8 b8"
#define DEVELOP_OUT "float32 r, float32 g, float32 b, float32 tone"
#define DEVELOP_OP                                                                                 \
    "r = to_light(r8 / 255.0f);\n"                                                                 \
    "g = to_light(g8 / 255.0f);\n"                                                                 \
    "b = to_light(b8 / 255.0f);\n"                                                                 \
    "tone = to_screen(0.2126f * r + 0.7152f * g + 0.0722f * b);\n"

/* Brightness along one edge of the print: 1 in the middle, less at the ends. */
#define FALLOFF_IN "float32 t"
#define FALLOFF_OUT "float32 v"
#define FALLOFF_OP "v = 1.0f - 0.45f * t * t * t * t - 0.15f * t * t"

/* A film curve, darker corners (a row (1, w) and a column (h, 1) broadcast), split toning. */
#define PRINT_IN "float32 r, float32 g, float32 b, float32 across, float32 down, float32 exposure"
#define PRINT_OUT "uint8 red, uint8 green, uint8 blue"
#define PRINT_PREAMBLE                                                                             \
    PREAMBLE "__device__ inline float film(float v)\n"                                             \
             "{\n"                                                                                 \
             "    return v * (2.51f * v + 0.03f) / (v * (2.43f * v + 0.59f) + 0.14f);\n"           \
             "}\n"
#define PRINT_OP                                                                                   \
    "float light = exposure * across * down;\n"                                                    \
    "float y = light * (0.2126f * r + 0.7152f * g + 0.0722f * b);\n"                               \
    "float gain = light * film(y) / fmaxf(y, 1e-6f); // one gain for all three keeps the hue\n"    \
    "float warm = smooth(0.02f, 0.5f, y);\n"                                                       \
    "red = to_byte(to_screen(r * gain * mix(0.70f, 1.05f, warm)));\n"                              \
    "green = to_byte(to_screen(g * gain * mix(1.00f, 0.98f, warm) + 0.005f * (1.0f - warm)));\n"   \
    "blue = to_byte(to_screen(b * gain * mix(1.40f, 0.90f, warm) + 0.025f * (1.0f - warm)));\n"

/* The tones as a landscape: how steep it is, and how the sun from the upper left shades it. */
#define RELIEF_IN "raw float32 tone, int32 w, int32 h, float32 height"
#define RELIEF_OUT "float32 steep, float32 shade"
#define RELIEF_OP                                                                                  \
    "int y = (int)i / w, x = (int)i - y * w;\n"                                                    \
    "ptrdiff_t up = (ptrdiff_t)clamp_to(y - 1, h) * w, here = (ptrdiff_t)y * w;\n"                 \
    "ptrdiff_t down = (ptrdiff_t)clamp_to(y + 1, h) * w;\n"                                        \
    "int left = clamp_to(x - 1, w), right = clamp_to(x + 1, w);\n"                                 \
    "float dx = tone[up + right] + 2.0f * tone[here + right] + tone[down + right]\n"               \
    "         - tone[up + left] - 2.0f * tone[here + left] - tone[down + left];\n"                 \
    "float dy = tone[down + left] + 2.0f * tone[down + x] + tone[down + right]\n"                  \
    "         - tone[up + left] - 2.0f * tone[up + x] - tone[up + right];\n"                       \
    "steep = sqrtf(dx * dx + dy * dy);\n"                                                          \
    "float nx = -dx * height, ny = -dy * height;\n"                                                \
    "float lit = -0.55f * nx - 0.55f * ny + 0.63f;\n"                                              \
    "shade = fmaxf(lit, 0.0f) * rsqrtf(nx * nx + ny * ny + 1.0f);\n"

/* Three inks by height, lit by the relief. */
#define DUOTONE_IN "float32 shade, float32 tone"
#define DUOTONE_OUT "uint8 red, uint8 green, uint8 blue"
#define DUOTONE_OP                                                                                 \
    "float low = smooth(0.0f, 0.45f, tone), high = smooth(0.4f, 1.0f, tone);\n"                    \
    "float sun = mix(0.25f, 1.35f, shade);\n"                                                      \
    "red = to_byte(sun * mix(mix(0.05f, 0.16f, low), 0.99f, high));\n"                             \
    "green = to_byte(sun * mix(mix(0.10f, 0.45f, low), 0.93f, high));\n"                           \
    "blue = to_byte(sun * mix(mix(0.22f, 0.50f, low), 0.76f, high));\n"

/* Outlines, and one more direction of hatching for every step into the dark. */
#define ETCH_IN "float32 steep, float32 tone, int32 w"
#define ETCH_OUT "uint8 red, uint8 green, uint8 blue"
#define ETCH_PREAMBLE                                                                              \
    PREAMBLE "// 1 on every fifth line, fading to 0 beside it.\n"                                  \
             "__device__ inline float line(int at, float width)\n"                                 \
             "{\n"                                                                                 \
             "    int off = at % 5 < 0 ? at % 5 + 5 : at % 5;\n"                                   \
             "    return clamp01(width - fabsf((float)off - 2.0f));\n"                             \
             "}\n"
#define ETCH_OP                                                                                    \
    "int y = (int)i / w, x = (int)i - y * w;\n"                                                    \
    "float ink = smooth(0.2f, 1.0f, steep);\n"                                                     \
    "ink = fmaxf(ink, line(x + y, 1.7f * smooth(0.80f, 0.30f, tone)));\n"                          \
    "ink = fmaxf(ink, line(x - y, 1.7f * smooth(0.45f, 0.15f, tone)));\n"                          \
    "ink = fmaxf(ink, line(y, 2.4f * smooth(0.25f, 0.05f, tone)));\n"                              \
    "red = to_byte(mix(0.965f, 0.16f, ink));\n"                                                    \
    "green = to_byte(mix(0.940f, 0.12f, ink));\n"                                                  \
    "blue = to_byte(mix(0.880f, 0.14f, ink));\n"

/* Four screens of dots, turned against each other as a printer does. */
#define HALFTONE_IN "raw float32 r, raw float32 g, raw float32 b, int32 w, int32 h, float32 pitch"
#define HALFTONE_OUT "uint8 red, uint8 green, uint8 blue"
#define HALFTONE_PREAMBLE                                                                          \
    PREAMBLE                                                                                       \
    "// How much of ink 0..3 (cyan, magenta, yellow, black) lies on a pixel: how far the nearest\n"\
    "// dot is of a screen turned by the angle of (c, s), and how large the tone makes it.\n"      \
    "template <class R, class G, class B>\n"                                                       \
    "__device__ inline float dots(const R &r, const G &g, const B &b, int w, int h, float pitch,\n"\
    "                             int x, int y, int ink, float c, float s)\n"                      \
    "{\n"                                                                                          \
    "    float u = (c * x + s * y) / pitch, v = (c * y - s * x) / pitch;\n"                        \
    "    float cu = floorf(u) + 0.5f, cv = floorf(v) + 0.5f;\n"                                    \
    "    int dot_x = clamp_to((int)floorf((c * cu - s * cv) * pitch), w);\n"                       \
    "    int dot_y = clamp_to((int)floorf((s * cu + c * cv) * pitch), h);\n"                       \
    "    ptrdiff_t at = (ptrdiff_t)dot_y * w + dot_x;\n"                                           \
    "    float light[3] = {to_screen(r[at]), to_screen(g[at]), to_screen(b[at])};\n"               \
    "    float black = 1.0f - fmaxf(light[0], fmaxf(light[1], light[2]));\n"                       \
    "    black *= black; // colours carry the middle tones, black the dark ones\n"                 \
    "    float amount = ink == 3 ? black\n"                                                        \
    "                            : (1.0f - light[ink] - black) / fmaxf(1.0f - black, 1e-3f);\n"    \
    "    float radius = 0.64f * sqrtf(amount);\n"                                                  \
    "    float away = sqrtf((u - cu) * (u - cu) + (v - cv) * (v - cv));\n"                         \
    "    return clamp01((radius - away) * pitch + 0.5f) * (amount > 0.004f);\n"                    \
    "}\n"
#define HALFTONE_OP                                                                                \
    "int y = (int)i / w, x = (int)i - y * w;\n"                                                    \
    "float cyan = dots(r, g, b, w, h, pitch, x, y, 0, 0.9659f, 0.2588f);\n"                        \
    "float magenta = dots(r, g, b, w, h, pitch, x, y, 1, 0.2588f, 0.9659f);\n"                     \
    "float yellow = dots(r, g, b, w, h, pitch, x, y, 2, 1.0f, 0.0f);\n"                            \
    "float black = 1.0f - 0.86f * dots(r, g, b, w, h, pitch, x, y, 3, 0.7071f, 0.7071f);\n"        \
    "red = to_byte(0.98f * black * (1.0f - 0.95f * cyan) * (1.0f - 0.06f * magenta));\n"           \
    "green = to_byte(0.97f * black * (1.0f - 0.35f * cyan) * (1.0f - 0.88f * magenta)\n"           \
    "                * (1.0f - 0.06f * yellow));\n"                                                \
    "blue = to_byte(0.93f * black * (1.0f - 0.08f * cyan) * (1.0f - 0.45f * magenta)\n"            \
    "               * (1.0f - 0.92f * yellow));\n"

/* Kuwahara's filter: each pixel takes the mean of the calmest of four windows around it. */
#define PAINT_IN "raw float32 r, raw float32 g, raw float32 b, int32 w, int32 h"
#define PAINT_OUT "uint8 red, uint8 green, uint8 blue"
#define PAINT_OP                                                                                   \
    "int y = (int)i / w, x = (int)i - y * w;\n"                                                    \
    "float calmest = 1e30f, best[3] = {0.0f, 0.0f, 0.0f};\n"                                       \
    "for (int window = 0; window < 4; window++) {\n"                                               \
    "    int x0 = x - (window & 1) * 4, y0 = y - (window >> 1) * 4;\n"                             \
    "    float sum[3] = {0.0f, 0.0f, 0.0f}, tones = 0.0f, squares = 0.0f;\n"                       \
    "    for (int dy = 0; dy < 5; dy++) {\n"                                                       \
    "        ptrdiff_t row = (ptrdiff_t)clamp_to(y0 + dy, h) * w;\n"                               \
    "        for (int dx = 0; dx < 5; dx++) {\n"                                                   \
    "            ptrdiff_t at = row + clamp_to(x0 + dx, w);\n"                                     \
    "            float pr = r[at], pg = g[at], pb = b[at];\n"                                      \
    "            float tone = sqrtf(0.2126f * pr + 0.7152f * pg + 0.0722f * pb);\n"                \
    "            sum[0] += pr, sum[1] += pg, sum[2] += pb;\n"                                      \
    "            tones += tone, squares += tone * tone;\n"                                         \
    "        }\n"                                                                                  \
    "    }\n"                                                                                      \
    "    float unrest = squares / 25.0f - tones * tones / 625.0f;\n"                               \
    "    if (unrest < calmest) {\n"                                                                \
    "        calmest = unrest;\n"                                                                  \
    "        for (int k = 0; k < 3; k++)\n"                                                        \
    "            best[k] = sum[k] / 25.0f;\n"                                                      \
    "    }\n"                                                                                      \
    "}\n"                                                                                          \
    "red = to_byte(to_screen(1.25f * best[0]));\n"                                                 \
    "green = to_byte(to_screen(1.25f * best[1]));\n"                                               \
    "blue = to_byte(to_screen(1.25f * best[2]));\n"

#endif
