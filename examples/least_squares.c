/* least_squares.c - the parabola that lies closest to some points: a small system, solved by lstsq. */
#include <kiln/kiln.h>

int main(void)
{
    static const double t[] = {-2, -1, 0, 1, 2, 3};
    static const double height[] = {9.1, 3.9, 1.2, 1.8, 5.2, 10.8};
    enum { POINTS = 6, POWERS = 3 };
    double matrix[POINTS][POWERS];
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = NULL;
    kiln_array *a = NULL, *b = NULL, *x = NULL;
    char *text = NULL;

    for (int i = 0; i < POINTS; i++) { /* 1, t, t^2 of each point */
        matrix[i][0] = 1;
        matrix[i][1] = t[i];
        matrix[i][2] = t[i] * t[i];
    }
    bool ok = kiln_context_create(NULL, &ctx, &err) == KILN_OK &&
              kiln_array_from_host(ctx, KILN_FLOAT64, 2, (int64_t[]){POINTS, POWERS}, matrix, NULL,
                                   &a, &err) == KILN_OK &&
              kiln_array_from_host(ctx, KILN_FLOAT64, 1, (int64_t[]){POINTS}, height, NULL, &b,
                                   &err) == KILN_OK &&
              kiln_linalg_lstsq(a, b, -1, NULL, &x, &err) == KILN_OK &&
              kiln_array_to_string(x, &text, &err) == KILN_OK;
    if (ok)
        puts(text); /* [ 1.41428571 -1.02857143  1.4       ]: 1.41 - 1.03 t + 1.4 t^2 */
    kiln_error_print(&err, stderr);
    kiln_free(text);
    kiln_array_release(a), kiln_array_release(b), kiln_array_release(x);
    kiln_context_release(ctx);
    kiln_error_clear(&err);
    return ok ? 0 : 1;
}
