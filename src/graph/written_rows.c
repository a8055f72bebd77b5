/*
 * written_rows.c - the table of functions that are expressions of others (written.c).
 *
 * A row lists its parameters, with defaults. `name:value` fits only a call that gives this value
 * (True, False, None or a word), `name:whole` only a whole number, `name:negative` only a negative
 * one, `name:extent` only one that is computed from the extents of arrays (extents.c), which
 * `whole` takes as well, and `name:number` only numbers. A default of True or False fits no other
 * value, but that of False None. The first row that fits is taken. Its text sees its parameters and
 * no other names.
 *
 * Rule: names with a leading underscore are for the texts of this file alone.
 *
 * Tests: test_written, and tests/test_numpy_text.py against NumPy.
 */
#include "graph/parse.h"

const kiln__written kiln__written_rows[] = {
    /* Of a sorted vector: where an element differs from the one before it. All NaN count as one. */
    {"_first", "s",
     "i = iota(s, 0); p = take(s, i - 1, mode=clip);"
     "(i == 0) | ((s != p) & ((s == s) | (p == p)))"},
    {"_end", "v:number, x, axis:whole", /* as one more element along an axis of x */
     "_like(broadcast_to(v, ()), count_nonzero(x, axis=axis, keepdims=True))"},
    {"_or_a_nan", "x", "_filled(x, _as(broadcast_to(nan, ()), 1.0 * x))"},
    {"_or_a_nan", "x, axis:whole", "_filled(x, _as(broadcast_to(nan, ()), 1.0 * x), axis=axis)"},
    {"_end", "v, x, axis:whole", "v"},
    {"diff", "x, n=1, axis=-1, prepend",
     "diff(concatenate([_end(prepend, x, axis), x], axis=axis), n, axis)"},
    {"diff", "x, n=1, axis=-1, append",
     "diff(concatenate([x, _end(append, x, axis)], axis=axis), n, axis)"},
    {"diff", "x, n=1, axis=-1, prepend, append",
     "diff(concatenate([_end(prepend, x, axis), x, _end(append, x, axis)], axis=axis), n, axis)"},
    {"ediff1d", "x, to_begin", "concatenate([ravel(_as(to_begin, x)), ediff1d(x)])"},
    {"ediff1d", "x, to_end", "concatenate([ediff1d(x), ravel(_as(to_end, x))])"},
    {"ediff1d", "x, to_begin, to_end",
     "concatenate([ravel(_as(to_begin, x)), ediff1d(x), ravel(_as(to_end, x))])"},
    /* Slopes along the last axis at even distances h, and at places: a number t is a distance. Ends are found of two
     * elements, or of three. */
    {"_real", "f", "_as(f, 1.0 * (f - f))"}, /* whole numbers do not wrap, and bool has no differences */
    {"_between_ends", "f, first, inner, last",
     "_as(concatenate([first[..., None], inner, last[..., None]], axis=-1), f)"},
    {"_slopes", "x, h",
     "f = _real(x); _between_ends(f, (f[..., 1] - f[..., 0]) / h,"
     "(f[..., 2:] - f[..., :-2]) / (2.0 * h), (f[..., -1] - f[..., -2]) / h)"},
    {"_slopes_2", "x, h",
     "f = _real(x); _between_ends(f,"
     "(-1.5 / h) * f[..., 0] + (2.0 / h) * f[..., 1] + (-0.5 / h) * f[..., 2],"
     "(f[..., 2:] - f[..., :-2]) / (2.0 * h),"
     "(0.5 / h) * f[..., -3] + (-2.0 / h) * f[..., -2] + (1.5 / h) * f[..., -1])"},
    {"_gaps", "t, f",
     "p = broadcast_to(1.0 * t, (f.shape[-1],)); p[1:] - minimum(t.size - 1, 1) * p[:-1]"},
    {"_inner_slopes", "f, d",
     "a = d[:-1]; b = d[1:]; -b / (a * (a + b)) * f[..., :-2] + (b - a) / (a * b) * f[..., 1:-1] +"
     "a / (b * (a + b)) * f[..., 2:]"},
    {"_slopes_at", "x, t",
     "f = _real(x); d = _gaps(t, f); _between_ends(f, (f[..., 1] - f[..., 0]) / d[0],"
     "_inner_slopes(f, d), (f[..., -1] - f[..., -2]) / d[-1])"},
    {"_slopes_2_at", "x, t",
     "f = _real(x); d = _gaps(t, f); a = d[0]; b = d[1]; y = d[-2]; z = d[-1]; _between_ends(f,"
     "-(2.0 * a + b) / (a * (a + b)) * f[..., 0] + (a + b) / (a * b) * f[..., 1] -"
     "a / (b * (a + b)) * f[..., 2], _inner_slopes(f, d),"
     "z / (y * (y + z)) * f[..., -3] - (z + y) / (y * z) * f[..., -2] +"
     "(2.0 * z + y) / (z * (y + z)) * f[..., -1])"},
    {"matrix_transpose", "x", "swapaxes(x, -1, -2)"},
    {"permute_dims", "x, axes", "transpose(x, axes)"},
    {"cumulative_sum", "x, dtype", "cumulative_sum(cast(x, dtype))"},
    {"cumulative_sum", "x, axis:whole, dtype", "cumulative_sum(cast(x, dtype), axis=axis)"},
    {"cumulative_sum", "x, axis=0, dtype, include_initial:True",
     "cumulative_sum(cast(x, dtype), axis=axis, include_initial=True)"},
    {"cumulative_sum", "x, include_initial=False", "cumsum(_vector(x), axis=0)"},
    {"cumulative_sum", "x, include_initial:True",
     "cumulative_sum(_vector(x), axis=0, include_initial=True)"},
    {"cumulative_sum", "x, axis:whole, include_initial=False", "cumsum(x, axis=axis)"},
    {"cumulative_sum", "x, axis:whole, include_initial:True",
     "c = cumsum(x, axis=axis); concatenate([_as(_end(0, c, axis), c), c], axis=axis)"},
    {"cumulative_prod", "x, dtype", "cumulative_prod(cast(x, dtype))"},
    {"cumulative_prod", "x, axis:whole, dtype", "cumulative_prod(cast(x, dtype), axis=axis)"},
    {"cumulative_prod", "x, include_initial=False", "cumprod(_vector(x), axis=0)"},
    {"cumulative_prod", "x, include_initial:True",
     "cumulative_prod(_vector(x), axis=0, include_initial=True)"},
    {"cumulative_prod", "x, axis:whole, include_initial=False", "cumprod(x, axis=axis)"},
    {"cumulative_prod", "x, axis:whole, include_initial:True",
     "c = cumprod(x, axis=axis); concatenate([_as(_end(1, c, axis), c), c], axis=axis)"},
    {"isin", "x, test, invert=False", "_is_among(sort(ravel(test)), x)"},
    {"isin", "x, test, invert:True", "~isin(x, test)"},
    {"in1d", "x, test", "isin(ravel(x), test)"},
    {"unique", "x", "s = sort(x, axis=None); s[_first(s)]"},
    {"unique", "x, equal_nan=True", "unique(x)"},
    {"unique", "x, equal_nan:False", /* each NaN is one of its own */
     "s = sort(x, axis=None); i = iota(s, 0); s[(i == 0) | (s != take(s, i - 1, mode=clip))]"},
    {"_both", "x, y", "sort(concatenate([ravel(x), ravel(y)]))"},
    {"union1d", "x, y", "s = _both(x, y); s[_first(s)]"},
    /* Of what a mask chooses (x, m), and of the first n values of a vector v (counted.c). */
    {"_wide", "a", "a - broadcast_to(0.0, ())"}, /* in float64 or complex128 */
    {"_of_mean", "x, m", "a = where(m, x, 0.0); _as(sum(_wide(a)) / sum(m), a)"},
    {"_squares", "x, m, a",
     "n = sum(m); d = abs(where(m, x - sum(_wide(a)) / n, 0.0)); sum(d * d) / n"},
    {"_of_var", "x, m", "a = where(m, x, 0.0); _as(_squares(x, m, a), abs(a))"},
    {"_of_std", "x, m", "a = where(m, x, 0.0); _as(sqrt(_squares(x, m, a)), abs(a))"},
    {"_one_of", "x, m", "take(ravel(x), argmax(m))"},
    {"_of_max", "x, m", "_need(any(m), max(where(m, x, _one_of(x, m))), 0.0, 6)"},
    {"_of_min", "x, m", "_need(any(m), min(where(m, x, _one_of(x, m))), 0.0, 7)"},
    {"_of_amax", "x, m", "_of_max(x, m)"},
    {"_of_amin", "x, m", "_of_min(x, m)"},
    {"_of_ptp", "x, m", "_of_max(x, m) - _of_min(x, m)"},
    {"_of_nansum", "x, m", "nansum(where(m, x, 0))"},
    {"_of_nanprod", "x, m", "nanprod(where(m, x, 1))"},
    {"_of_nanmean", "x, m", "mean(x[m & (x == x)])"},
    {"_of_nanvar", "x, m", "var(x[m & (x == x)])"},
    {"_of_nanstd", "x, m", "std(x[m & (x == x)])"},
    {"_or_all_nan", "x, m", "k = m & (x == x); k | (m & ~any(k))"},
    {"_of_nanmin", "x, m", "min(x[_or_all_nan(x, m)])"},
    {"_of_nanmax", "x, m", "max(x[_or_all_nan(x, m)])"},
    {"_of_nanmedian", "x, m", "median(x[m & (x == x)])"},
    {"_of_nanquantile", "x, m, q", "quantile(x[m & (x == x)], q)"},
    {"_of_nanpercentile", "x, m, q", "percentile(x[m & (x == x)], q)"},
    {"_of_norm", "x, m", "norm(where(m, x, 0))"},
    {"_of_average", "x, m", "_of_mean(x, m)"},
    {"_of_average", "x, m, weights", "sum(where(m, x * weights, 0)) / sum(where(m, weights, 0))"},
    {"_of_dot", "x, m, y", "p = x * y; _as(sum(where(m, p, 0)), p)"},
    {"_of_inner", "x, m, y", "_of_dot(x, m, y)"},
    /* A mask is one more axis of a histogram, along which elements that it does not choose are in no bin. */
    {"_of_histogram", "x, m", "_of_histogram(x, m, 10)"},
    {"_of_histogram", "x, m, bins:whole",
     "e = _of_edges(x, m, bins); _histogram([ravel(x), _chosen(m), e, _one()])[:, 0], e"},
    {"_of_histogram", "x, m, bins",
     "_histogram([ravel(x), _chosen(m), _rising(bins), _one()])[:, 0], bins"},
    {"_of_histogram2d", "x, m, y, bins:whole",
     "e = _of_edges(x, m, bins); f = _of_edges(y, m, bins);"
     "float64(_histogram([ravel(x), ravel(y), _chosen(m), e, f, _one()])[..., 0]), e, f"},
    {"_of_histogram2d", "x, m, y, xbins, ybins",
     "float64(_histogram([ravel(x), ravel(y), _chosen(m), _rising(xbins), _rising(ybins), "
     "_one()])[..., 0]), xbins, ybins"},
    {"_of_bincount", "x, m, length:whole",
     "n = _at_least(length, 1, 'length');"
     "r = _need(~m | ((x | False) >= 0), x, float64(x), 5);"
     "_histogram([ravel(r), _chosen(m), arange(n + 1) - 0.5, _one()])[:, 0]"},
    {"_chosen", "m", "ravel(int8(m))"},
    {"_one", "", "arange(2) + 0.5"},
    {"_of_edges", "x, m, bins",
     "c = any(m); e = _one_of(x, m); low = 1.0 * min(where(m, x, e));"
     "high = 1.0 * max(where(m, x, e));"
     "_edges_between(where(c, low, 0.0), where(c, high, 1.0), bins)"},
    {"_first_last", "v, n", "lexsort([v, iota(v, 0) >= n])"},
    {"_falling", "v, n", "o = argsort_descending(v, 0); o[argsort(o >= n)]"},
    {"_of_median", "v, n", "_of_quantile(v, n, 0.5)"},
    {"_of_quantile", "v, n, q",
     "w = _or_a_nan(v); s = w[_first_last(w, n)]; l = _nan_at(s, n, n - 1);"
     "r = _nan_between(s, n, (n - 1) * q, q); where((n == 0) | (l != l), nan, r)"},
    {"_of_percentile", "v, n, q", "_of_quantile(v, n, q / 100)"},
    {"_of_topk", "v, n, k:whole, axis=-1, largest=True",
     "w = moveaxis(v, axis, 0); o = _falling(w, n)[:k]; _need(n >= k, w[o], float64(n), 8), o"},
    {"_of_topk", "v, n, k:whole, axis=-1, largest:False",
     "w = moveaxis(v, axis, 0); o = _first_last(w, n)[:k]; _need(n >= k, w[o], float64(n), 8), o"},
    {"_of_sort", "v, n, axis=-1, descending=False",
     "w = moveaxis(v, axis, 0); w[_first_last(w, n)], n"},
    {"_of_sort", "v, n, axis=-1, descending:True", "w = moveaxis(v, axis, 0); w[_falling(w, n)], n"},
    {"_of_argsort", "v, n, axis=-1, descending=False", "_first_last(moveaxis(v, axis, 0), n), n"},
    {"_of_argsort", "v, n, axis=-1, descending:True", "_falling(moveaxis(v, axis, 0), n), n"},
    {"_of_unique", "v, n", "s = v[_first_last(v, n)]; s[_first(s) & (iota(s, 0) < n)]"},
    {"_of_diff", "v, n", "v[1:] - v[:-1], maximum(n - 1, 0)"},
    {"_of_ediff1d", "v, n", "_of_diff(v, n)"},
    {"_of_flip", "v, n, axis=0", "take(v, n - 1 - _places(v), axis=0, mode=clip), n"},
    {"_of_roll", "v, n, shift:whole, axis=0",
     "take(v, (_places(v) - shift) % maximum(n, 1), axis=0, mode=clip), n"},
    {"_of_repeat", "v, n, times:whole", "repeat(v, times), n * times"},
    {"_of_tile", "v, n, times:whole",
     "t = tile(v, times); take(v, iota(t, 0) % maximum(n, 1), mode=clip), n * times"},
    {"_of_ravel", "v, n", "v, n"},
    {"_of_flatten", "v, n", "v, n"},
    {"_of_in1d", "v, n, test", "isin(v, test), n"},
    /* Of an array x and a mask of its shape, which is the same along all axes but `at`. */
    {"_over_max", "x, mask, at:whole, axis=None, keepdims=None",
     "r = take_along_axis(x, argmax(mask, axis=at, keepdims=True), at);"
     "_need(any(mask), max(where(mask, x, r), axis=axis, keepdims=keepdims), 0.0, 6)"},
    {"_over_min", "x, mask, at:whole, axis=None, keepdims=None",
     "r = take_along_axis(x, argmax(mask, axis=at, keepdims=True), at);"
     "_need(any(mask), min(where(mask, x, r), axis=axis, keepdims=keepdims), 0.0, 7)"},
    {"_over_amax", "x, mask, at:whole, axis=None, keepdims=None",
     "_over_max(x, mask, at, axis, keepdims)"},
    {"_over_amin", "x, mask, at:whole, axis=None, keepdims=None",
     "_over_min(x, mask, at, axis, keepdims)"},
    {"_over_ptp", "x, mask, at:whole, axis=None, keepdims=None",
     "_over_max(x, mask, at, axis, keepdims) - _over_min(x, mask, at, axis, keepdims)"},
    /* NaN count where there is nothing else. */
    {"_or_nan", "x, mask, axis",
     "k = mask & (x == x); k | (mask & ~any(k, axis=axis, keepdims=True))"},
    {"_over_nanmax", "x, mask, at:whole, axis:whole, keepdims=None",
     "_over_max(x, _or_nan(x, mask, axis), at, axis, keepdims)"},
    {"_over_nanmax", "x, mask, at:whole, keepdims=None",
     "k = _or_nan(x, mask, None);"
     "_need(any(mask), max(where(k, x, _one_of(x, k)), keepdims=keepdims), 0.0, 6)"},
    {"_over_nanmin", "x, mask, at:whole, axis:whole, keepdims=None",
     "_over_min(x, _or_nan(x, mask, axis), at, axis, keepdims)"},
    {"_over_nanmin", "x, mask, at:whole, keepdims=None",
     "k = _or_nan(x, mask, None);"
     "_need(any(mask), min(where(k, x, _one_of(x, k)), keepdims=keepdims), 0.0, 7)"},
    {"_of_argmax", "v, n",
     "k = iota(v, 0) < n; t = _of_max(v, k); argmax(k & ((v == t) | ((v != v) & (t != t))))"},
    {"_of_argmin", "v, n",
     "k = iota(v, 0) < n; t = _of_min(v, k); argmax(k & ((v == t) | ((v != v) & (t != t))))"},
    {"_of_union1d", "v, n, y", "unique(concatenate([v[iota(v, 0) < n], ravel(y)]))"},
    {"_in_union1d", "x, v, n", "_of_union1d(v, n, x)"},
    {"_of_intersect1d", "v, n, y",
     "s = v[_first_last(v, n)]; s[_first(s) & (iota(s, 0) < n) & isin(s, y)]"},
    {"_in_intersect1d", "x, v, n", "_of_intersect1d(v, n, x)"},
    {"_of_setdiff1d", "v, n, y",
     "s = v[_first_last(v, n)]; s[_first(s) & (iota(s, 0) < n) & ~isin(s, y)]"},
    {"_in_setdiff1d", "x, v, n", "s = sort(x, axis=None); s[_first(s) & ~_in_isin(s, v, n)]"},
    /* Behind the first n elements stands one of them again. */
    {"_in_isin", "x, v, n", "isin(x, where(iota(v, 0) < n, v, v[:1])) & (n > 0)"},
    {"_in_in1d", "x, v, n", "_in_isin(ravel(x), v, n)"},
    {"_in_searchsorted", "v, n, x, side:right",
     "minimum(_search_right(where(iota(v, 0) < n, v, _last_of(v, n)), x), n)"},
    {"_in_searchsorted", "v, n, x, side:left", "_in_searchsorted(v, n, x)"},
    {"_in_searchsorted", "v, n, x",
     "minimum(searchsorted(where(iota(v, 0) < n, v, _last_of(v, n)), x), n)"},
    {"_last_of", "v, n", "take(v, n - 1 + 0 * iota(v, 0)[:1], mode=clip)"},
    /* Python's rules of bounds, which count from the end where they are negative. */
    {"_up", "n, bound:None, open", "open"},
    {"_up", "n, bound:extent, open",
     "where(int64(bound) < 0, maximum(n + bound, 0), minimum(n, bound))"},
    {"_up", "n, bound:negative, open", "maximum(n + bound, 0)"},
    {"_up", "n, bound:whole, open", "minimum(n, bound)"},
    {"_down", "n, bound:None, open", "open"},
    {"_down", "n, bound:extent, open",
     "where(int64(bound) < 0, maximum(n + bound, -1), minimum(n - 1, bound))"},
    {"_down", "n, bound:negative, open", "maximum(n + bound, -1)"},
    {"_down", "n, bound:whole, open", "minimum(n - 1, bound)"},
    {"_of_slice", "v, n, start, stop, step:negative",
     "a = _down(n, start, n - 1); b = _down(n, stop, n * 0 - 1);"
     "take(v, a + _places(v) * step, axis=0, mode=clip), maximum((a - b - step - 1) // -step, 0)"},
    {"_of_slice", "v, n, start, stop, step:whole",
     "a = _up(n, start, n * 0); b = _up(n, stop, n);"
     "take(v, a + _places(v) * step, axis=0, mode=clip), maximum((b - a + step - 1) // step, 0)"},
    {"_of_element", "v, n, i:negative", "_element_at(v, n, n + i, i + n * 0)"},
    {"_of_element", "v, n, i:extent",
     "j = n * 0 + i; _element_at(v, n, where(j < 0, j + n, j), j)"},
    {"_of_element", "v, n, i:whole", "_element_at(v, n, i + n * 0, i + n * 0)"},
    {"_of_element", "v, n, i", "j = int64(i); _element_at(v, n, where(j < 0, j + n, j), j)"},
    {"_element_at", "v, n, j, i",
     "ok = (j >= 0) & (j < n); take(v, _need(ok, where(ok, j, 0), float64(i), 9), axis=0)"},
    {"_of_cumsum", "v, n", "cumsum(v), n"},
    {"_of_cumsum", "v, n, axis", "cumsum(v, axis=axis), n"},
    {"_of_cumprod", "v, n", "cumprod(v), n"},
    {"_of_cumprod", "v, n, axis", "cumprod(v, axis=axis), n"},
    {"_of_cummax", "v, n", "cummax(v), n"},
    {"_of_cummax", "v, n, axis", "cummax(v, axis=axis), n"},
    {"_of_cummin", "v, n", "cummin(v), n"},
    {"_of_cummin", "v, n, axis", "cummin(v, axis=axis), n"},
    {"_of_isin", "v, n, test", "isin(v, test), n"},
    {"_of_searchsorted", "sorted, v, n", "searchsorted(sorted, v), n"},
    {"_of_searchsorted", "sorted, v, n, side:left", "searchsorted(sorted, v), n"},
    {"_of_searchsorted", "sorted, v, n, side:right", "_search_right(sorted, v), n"},
    {"_of_take", "x, v, n, axis=None", "take(x, where(iota(v, 0) < n, v, 0), axis=axis), n"},
    /* Of n elements with k inserted: `s` are their places in the result, `c` how many are before each element of it. */
    {"_insert_at", "x, i, values, axis:None", "_insert_at(x, i, values)"},
    {"_insert_at", "x, i, values, axis:whole", "_insert_along(x, atleast_1d(i), values, axis)"},
    {"_insert_at", "x, i, values", "_insert_along(ravel(x), atleast_1d(i), values, 0)"},
    {"_insert_along", "x, i, values, axis:whole",
     "p = _places(x, axis); n = _places(concatenate([p, arange(1)]))[-1]; t = int64(i);"
     "t = where(t < 0, t + n, t); t = _need((t >= 0) & (t <= n), t, float64(i), 9);"
     "o = argsort(t); s = t[o] + _places(o); j = _places(concatenate([p, o]));"
     "c = searchsorted(s, j, side='right'); e = take(x, t, axis=axis, mode=clip);"
     "v = take(_like(_as(values, x), e), take(o, c - 1, mode=clip), axis=axis);"
     "w = take(x, j - c, axis=axis, mode=clip);"
     "moveaxis(where(take(s, c - 1, mode=clip) == j, moveaxis(v, axis, -1),"
     " moveaxis(w, axis, -1)), -1, axis)"},
    {"intersect1d", "x, y", "s = _both(x, y); s[_first(s) & isin(s, x) & isin(s, y)]"},
    {"setdiff1d", "x, y, assume_unique:True", "r = ravel(x); r[isin(r, y) == False]"},
    {"setdiff1d", "x, y, assume_unique=False", "s = sort(x, axis=None); s[_first(s) & ~isin(s, y)]"},
    {"setxor1d", "x, y", "s = _both(x, y); s[_first(s) & ~(isin(s, x) & isin(s, y))]"},
    {"sort", "x, axis=-1, descending=False", "sort(x, axis)"},
    {"sort", "x, axis=-1, descending:True", "sort_descending(x, axis)"},
    {"sort", "x, axis=-1, descending=False, key",
     "take_along_axis(x, argsort(_like(key, x), axis), axis)"},
    {"sort", "x, axis=-1, descending:True, key",
     "take_along_axis(x, argsort_descending(_like(key, x), axis), axis)"},
    {"argsort", "x, axis=-1, descending=False", "argsort(x, axis)"},
    {"argsort", "x, axis=-1, descending:True", "argsort_descending(x, axis)"},
    {"argsort", "x, axis=-1, descending=False, key", "argsort(_like(key, x), axis)"},
    {"argsort", "x, axis=-1, descending:True, key", "argsort_descending(_like(key, x), axis)"},
    {"topk", "x, k, axis=-1, largest=True", "topk(x, k, axis)"},
    {"topk", "x, k, axis=-1, largest:False", "topk_smallest(x, k, axis)"},
    {"searchsorted", "sorted, values, side:left", "searchsorted(sorted, values)"},
    {"searchsorted", "sorted, values, side:right", "_search_right(sorted, values)"},
    {"searchsorted", "sorted, values, sorter", "searchsorted(take(sorted, sorter), values)"},
    {"searchsorted", "sorted, values, side:left, sorter",
     "searchsorted(take(sorted, sorter), values)"},
    {"searchsorted", "sorted, values, side:right, sorter",
     "_search_right(take(sorted, sorter), values)"},
    /* Bins that fall are searched from their end. */
    {"_bins", "b, falls",
     "i = iota(b, 0); p = take(b, i - 1, mode=clip);"
     "_need((b >= p) & ~falls | (b <= p) & falls, where(falls, b[::-1], b), float64(i) - 1, 4)"},
    {"_digits", "bins, falls, places", "where(falls, iota(bins, 0)[-1] + 1 - places, places)"},
    {"digitize", "x, bins, right=False",
     "f = bins[0] > bins[-1]; _digits(bins, f, _bin_right(_bins(bins, f), x))"},
    {"digitize", "x, bins, right:True",
     "f = bins[0] > bins[-1]; _digits(bins, f, _bin(_bins(bins, f), x))"},
    /* Evenly spaced, the last one exactly the largest element; each larger than the one before it. */
    {"_edges", "x, bins",
     "z = _as(broadcast_to(0, ()), x); o = _as(broadcast_to(1, ()), x);"
     "_edges_between(1.0 * min(_filled(x, z)), 1.0 * max(_filled(x, o)), bins)"},
    {"_edges_in", "x, bins, low, high",
     "_edges_between(_as(low, 1.0 * x), _as(high, 1.0 * x), bins)"},
    /* Products are stored before they are added to, so that edges are rounded as NumPy's. */
    {"_edges_between", "a, b, bins",
     "n = _at_least(bins, 1, 'the number of bins'); j = arange(n + 1); i = _as(j, a);"
     "low = where(a == b, a - 0.5, a); high = where(a == b, b + 0.5, b);"
     "f = isfinite(a) & isfinite(b); s = (high - low) / n;"
     "p = _need(f, i * s, float64(where(isfinite(a), b, a)), 1);"
     "e = where(j == n, high, p + low); ok = (j == 0) | (e > take(e, j - 1, mode=clip));"
     "_need(ok, e, where(a > b, float64(b), float64(n)), where(a > b, 12, 2))"},
    {"_rising", "e",
     "i = iota(e, 0); _need(~(e < take(e, i - 1, mode=clip)), e, float64(i) - 1, 3)"},
    {"_bins_of", "x, bins:whole, range:None", "_edges(x, bins)"},
    {"_bins_of", "x, bins:whole, range", "_edges_in(x, bins, range[0], range[1])"},
    {"_bins_of", "x, bins, range", "_rising(bins)"},
    {"histogram_bin_edges", "x, bins=10, range=None", "_bins_of(x, bins, range)"},
    {"_given_bins", "x, bins:whole, range", "_bins_of(x, bins, range)"},
    {"_given_bins", "x, bins, range", "bins"},
    /* The number of each element's bin; one beyond all of them: in none. */
    {"_bin_of", "x, e",
     "r = ravel(x); n = e.size - 1; k = searchsorted(e, r, side='right') - 1;"
     "where(r == e[-1], n - 1, where((k >= 0) & (k < n), k, n))"},
    {"_spread", "k, w, n:whole",
     "v = _wide(ravel(w)); scatter_add(_as(zeros(n + 1), v), k, v)[:n]"},
    {"_counted", "x, e, weights:None", "_histogram([ravel(x), e])"},
    {"_counted", "x, e, weights", "_as(_spread(_bin_of(x, e), weights, e.size - 1), weights)"},
    {"histogram", "x, bins=10, range=None, density=False, weights=None",
     "_counted(x, _bins_of(x, bins, range), weights), _given_bins(x, bins, range)"},
    {"histogram", "x, bins=10, range=None, density:True, weights=None",
     "e = _bins_of(x, bins, range); h = _counted(x, e, weights);"
     "h / float64(e[1:] - e[:-1]) / sum(h), _given_bins(x, bins, range)"},
    {"histogram2d", "x, y, xbins, ybins",
     "float64(_histogram([x, y, _rising(xbins), _rising(ybins)])), xbins, ybins"},
    /* Of rows whose NaN do not count. They come last in sorted rows; `n` are the others. signbit() refuses complex
     * numbers, which have no quantiles. */
    {"_nan_count", "x", "sum((x == x) & (signbit(x) | True), axis=-1)"},
    {"_row_count", "x", "_like(x.shape[-1], signbit(x[..., 0]))"}, /* signbit() refuses complex numbers */
    /* Element i of each sorted row in s, of which the first n count; i may have further axes before those of n. */
    {"_nan_at", "s, n, i",
     "take(ravel(s), reshape(arange(n.size), n.shape) * s.shape[-1] +"
     " int64(clip(i, 0, maximum(n - 1, 0))), mode=clip)"},
    /* A number q is weak; an array decides on the dtype with s, whose differences bool does not have. */
    {"_nan_between", "s, n, v, q",
     "f = floor(v); e = _nan_at(s, n, f); a = 1.0 * e; b = 1.0 * _nan_at(s, n, f + 1);"
     "t = _as(v - f, 1.0 * (e - e) + q); d = b - a; where(t < 0.5, a + d * t, b - d * (1 - t))"},
    {"_nan_virtual", "s, n, q, a, b", "_nan_between(s, n, n * q + (a + q * (1 - a - b)) - 1, q)"},
    {"_nan_middle", "x",
     "s = sort(x); n = sum(x == x, axis=-1);"
     "0.5 * _nan_at(s, n, (n - 1) // 2) + 0.5 * _nan_at(s, n, n // 2)"},
    {"_nan_linear", "s, n, q", "_nan_between(s, n, (n - 1) * q, q)"},
    {"_nan_lower", "s, n, q", "_nan_at(s, n, floor((n - 1) * q))"},
    {"_nan_higher", "s, n, q", "_nan_at(s, n, ceil((n - 1) * q))"},
    {"_nan_nearest", "s, n, q", "_nan_at(s, n, rint((n - 1) * q))"},
    {"_nan_midpoint", "s, n, q",
     "v = (n - 1) * q; _nan_between(s, n, 0.5 * (floor(v) + ceil(v)), q)"},
    /* NumPy rounds n * q, and looks whether it is whole: nothing is subtracted from it, for a product and a sum may be
     * rounded as one. */
    {"_nan_inverted_cdf", "s, n, q", "_nan_at(s, n, ceil(n * q) - 1)"},
    {"_nan_averaged_inverted_cdf", "s, n, q",
     "v = n * q; f = floor(v); _nan_between(s, n, where(v == f, f - 0.5, f), q)"},
    {"_nan_closest", "s, n, q", /* of n * q - 1.5, which is whole where twice n * q is odd */
     "v = 2 * n * q; w = floor(v); f = floor((w - 3) / 2);"
     "_nan_at(s, n, where((v == w) & (w % 2 != 0) & (f % 2 != 0), f, f + 1))"},
    {"_nan_interpolated", "s, n, q", "_nan_virtual(s, n, q, 0, 1)"},
    {"_nan_hazen", "s, n, q", "_nan_virtual(s, n, q, 0.5, 0.5)"},
    {"_nan_weibull", "s, n, q", "_nan_virtual(s, n, q, 0, 0)"},
    {"_nan_median_unbiased", "s, n, q", "_nan_virtual(s, n, q, 1 / 3, 1 / 3)"},
    {"_nan_normal_unbiased", "s, n, q", "_nan_virtual(s, n, q, 0.375, 0.375)"},
    /* A row whose last element is NaN has no quantile but that. */
    {"_or_last_nan", "s, y", "l = s[..., -1]; where(l != l, l, y)"},
    {"_probabilities", "q", "_need((q >= 0) & (q <= 1), q, float64(q), 11)"},
    /* NumPy's empty() promises no values. */
    {"full", "shape, fill_value", "broadcast_to(fill_value, shape)"},
    {"full", "shape, fill_value, dtype", "cast(broadcast_to(fill_value, shape), dtype)"},
    {"zeros", "shape", "broadcast_to(0.0, shape)"},
    {"zeros", "shape, dtype", "cast(broadcast_to(0, shape), dtype)"},
    {"ones", "shape", "broadcast_to(1.0, shape)"},
    {"ones", "shape, dtype", "cast(broadcast_to(1, shape), dtype)"},
    {"empty", "shape", "zeros(shape)"},
    {"empty", "shape, dtype", "zeros(shape, dtype)"},
    {"full_like", "x, fill_value", "_as(_like(fill_value, x), x)"},
    {"full_like", "x, fill_value, dtype", "cast(_like(fill_value, x), dtype)"},
    {"zeros_like", "x", "full_like(x, 0)"},
    {"zeros_like", "x, dtype", "full_like(x, 0, dtype)"},
    {"ones_like", "x", "full_like(x, 1)"},
    {"ones_like", "x, dtype", "full_like(x, 1, dtype)"},
    {"empty_like", "x", "full_like(x, 0)"},
    {"empty_like", "x, dtype", "full_like(x, 0, dtype)"},
    /* `distances` are those of `num` numbers. Numbers and arrays without axes, as which numbers are strong. */
    {"_spaced", "start, stop, num, distances, last",
     "a = broadcast_to(start, ()) * 1.0; b = broadcast_to(stop, ()) * 1.0; i = "
     "arange(_at_least(num, 0, 'num'));"
     "s = (b - a) / distances; where(i == 0, a, where(i == last, b, _as(i, s) * s + a))"},
    {"linspace", "start, stop, num=50, endpoint=True",
     "_spaced(start, stop, num, num - 1, num - 1)"},
    {"linspace", "start, stop, num=50, endpoint:False", "_spaced(start, stop, num, num, -1)"},
    {"linspace", "start, stop, num=50, endpoint=True, retstep:True",
     "linspace(start, stop, num), (stop - start) / (num - 1)"},
    {"linspace", "start, stop, num=50, endpoint:False, retstep:True",
     "linspace(start, stop, num, False), (stop - start) / num"},
    {"linspace", "start, stop, num=50, endpoint=True, dtype",
     "_floor_as(linspace(start, stop, num), zeros((), dtype))"},
    {"linspace", "start, stop, num=50, endpoint:False, dtype",
     "_floor_as(linspace(start, stop, num, False), zeros((), dtype))"},
    {"logspace", "start, stop, num=50, endpoint=True, base=10",
     "power(base, linspace(start, stop, num))"},
    {"logspace", "start, stop, num=50, endpoint:False, base=10",
     "power(base, linspace(start, stop, num, False))"},
    {"_geometric", "start, stop, between, last",
     "a = broadcast_to(start, ()) * 1.0; b = broadcast_to(stop, ()) * 1.0; i = iota(between, 0);"
     "where(i == 0, a, where(i == last, b, power(10, between) * sign(a)))"},
    {"geomspace", "start, stop, num=50, endpoint=True",
     "_geometric(start, stop, linspace(log10(abs(start)), log10(abs(stop)), num), num - 1)"},
    {"geomspace", "start, stop, num=50, endpoint:False",
     "_geometric(start, stop, linspace(log10(abs(start)), log10(abs(stop)), num, False), -1)"},
    /* Of whole numbers the decimals behind the point change nothing. */
    {"around", "x, decimals:negative", "f = 1.0 * 10 ** -decimals; _as(rint(x / f) * f, x)"},
    {"around", "x, decimals:whole",
     "f = 1.0 * 10 ** decimals; where(_as(_like(0.5, x), x) == 0, x, _as(rint(x * f) / f, x))"},
    {"around", "x", "round(x)"},
    {"round", "x, decimals:whole", "around(x, decimals)"},
    {"cross", "x, y, axisa:whole, axisb=-1, axisc=-1",
     "moveaxis(cross(moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)), -1, axisc)"},
    {"cross", "x, y, axisb:whole, axisc=-1", "cross(x, y, -1, axisb, axisc)"},
    {"cross", "x, y, axisc:whole", "cross(x, y, -1, -1, axisc)"},
    {"cross", "x, y, axisa=-1, axisb=-1, axisc=-1, axis:whole", "cross(x, y, axis, axis, axis)"},
    {"cross", "x, y",
     "a = _three(x); b = _three(y);"
     "stack([a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],"
     " a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],"
     " a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]], axis=-1)"},
    {"diag", "x", "_diag(x, 0)"},
    {"diag", "x, k:whole", "_diag(x, k)"},
    {"diagflat", "x", "_diag(ravel(x), 0)"},
    {"diagflat", "x, k:whole", "_diag(ravel(x), k)"},
    /* `| False` refuses all but whole numbers. */
    {"bincount", "x, weights, length:whole",
     "n = _at_least(length, 1, 'length'); r = ravel(x); r = _need((r | False) >= 0, r, float64(r), 5);"
     "float64(_spread(minimum(r, n), weights, n))"},
    {"bincount", "x, length:whole",
     "n = _at_least(length, 1, 'length'); r = ravel(x);"
     "_histogram([_need((r | False) >= 0, r, float64(r), 5), arange(n + 1) - 0.5])"},
    {"fliplr", "x", "x[:, ::-1]"},
    {"flipud", "x", "x[::-1]"},
    {"identity", "n", "eye(n)"},
    {"identity", "n, dtype", "eye(n, dtype=dtype)"},
    {"meshgrid", "x", "ravel(x)"},
    {"meshgrid", "x, y, z",
     "broadcast_arrays(ravel(x)[:, None], ravel(y)[:, None, None], ravel(z))"},
    {"meshgrid", "x, y, z, indexing:xy", "meshgrid(x, y, z)"},
    {"meshgrid", "x, y, z, indexing:ij",
     "broadcast_arrays(ravel(x)[:, None, None], ravel(y)[:, None], ravel(z))"},
    {"meshgrid", "x, y, sparse:True", "ravel(x)[None], ravel(y)[:, None]"},
    {"meshgrid", "x, y, indexing:xy, sparse:True", "ravel(x)[None], ravel(y)[:, None]"},
    {"meshgrid", "x, y, indexing:ij, sparse:True", "ravel(x)[:, None], ravel(y)[None]"},
    {"meshgrid", "x, y", "broadcast_arrays(ravel(x), ravel(y)[:, None])"},
    {"meshgrid", "x, y, indexing:xy", "meshgrid(x, y)"},
    {"meshgrid", "x, y, indexing:ij", "broadcast_arrays(ravel(x)[:, None], ravel(y))"},
    {"_fill", "x, mask, value", "where(mask, _as(broadcast_to(value, ()), x), x)"},
    {"ptp", "x, axis=None, keepdims=None",
     "max(x, axis=axis, keepdims=keepdims) - min(x, axis=axis, keepdims=keepdims)"},
    /* Of elements where a mask is true; the parameter `where` is called `mask` in a text. */
    {"sum", "x, axis=None, dtype=None, keepdims=None, where",
     "sum(where(mask, x, False), axis=axis, dtype=dtype, keepdims=keepdims)"},
    {"sum", "x, axis=None, dtype=None, keepdims=None, where, initial",
     "_plus(sum(x, axis=axis, dtype=dtype, keepdims=keepdims, where=mask), initial)"},
    {"sum", "x, axis=None, dtype=None, keepdims=None, initial",
     "_plus(sum(x, axis=axis, dtype=dtype, keepdims=keepdims), initial)"},
    {"prod", "x, axis=None, dtype=None, keepdims=None, where",
     "prod(where(mask, x, True), axis=axis, dtype=dtype, keepdims=keepdims)"},
    {"prod", "x, axis=None, dtype=None, keepdims=None, initial",
     "p = prod(x, axis=axis, dtype=dtype, keepdims=keepdims); _as(p * initial, p)"},
    {"_plus", "x, initial", "_as(x + initial, x)"},
    {"any", "x, axis=None, keepdims=None, where",
     "any(where(mask, x, False), axis=axis, keepdims=keepdims)"},
    {"all", "x, axis=None, keepdims=None, where",
     "all(where(mask, x, True), axis=axis, keepdims=keepdims)"},
    {"max", "x, axis=None, keepdims=None, initial",
     "i = _as(broadcast_to(initial, ()), x);"
     "maximum(max(_filled(x, i, axis=axis), axis=axis, keepdims=keepdims), i)"},
    {"max", "x, axis=None, keepdims=None, initial, where",
     "i = _as(broadcast_to(initial, ()), x);"
     "maximum(max(_filled(where(mask, x, i), i, axis=axis), axis=axis, keepdims=keepdims), i)"},
    {"min", "x, axis=None, keepdims=None, initial",
     "i = _as(broadcast_to(initial, ()), x);"
     "minimum(min(_filled(x, i, axis=axis), axis=axis, keepdims=keepdims), i)"},
    {"min", "x, axis=None, keepdims=None, initial, where",
     "i = _as(broadcast_to(initial, ()), x);"
     "minimum(min(_filled(where(mask, x, i), i, axis=axis), axis=axis, keepdims=keepdims), i)"},
    {"_how_many", "x, axis, keepdims, mask", "sum(_like(mask, x), axis=axis, keepdims=keepdims)"},
    {"mean", "x, axis=None, keepdims=None, where",
     "y = 1.0 * x; s = sum(_wide(where(mask, y, False)), axis=axis, keepdims=keepdims);"
     "_as(s / _how_many(x, axis, keepdims, mask), y)"},
    {"var", "x, axis=None, keepdims=None, ddof",
     "v = var(x, axis=axis, keepdims=keepdims); n = _how_many(x, axis, keepdims, True);"
     "_as(v * (n / (n - ddof)), v)"},
    {"var", "x, axis=None, keepdims=None, where, ddof=0",
     "y = 1.0 * x; m = mean(_wide(x), axis=axis, keepdims=True, where=mask);"
     "d = abs(where(mask, y - m, 0)); _as(sum(d * d, axis=axis, keepdims=keepdims) /"
     " (_how_many(x, axis, keepdims, mask) - ddof), abs(y))"},
    {"std", "x, axis=None, keepdims=None, ddof",
     "sqrt(var(x, axis=axis, keepdims=keepdims, ddof=ddof))"},
    {"std", "x, axis=None, keepdims=None, where, ddof=0",
     "sqrt(var(x, axis=axis, keepdims=keepdims, where=mask, ddof=ddof))"},
    {"average", "x, axis=None", "mean(x, axis=axis)"},
    {"average", "x, axis=None, keepdims:True", "mean(x, axis=axis, keepdims=True)"},
    {"average", "x, axis=None, keepdims:False", "mean(x, axis=axis)"},
    {"nansum", "x, axis=None, keepdims=None, where",
     "sum(where(mask & (x == x), x, False), axis=axis, keepdims=keepdims)"},
    {"nanmean", "x, axis=None, keepdims=None, where",
     "mean(x, axis=axis, keepdims=keepdims, where=mask & (x == x))"},
    {"nanvar", "x, axis=None, keepdims=None, ddof",
     "var(x, axis=axis, keepdims=keepdims, where=x == x, ddof=ddof)"},
    {"nanstd", "x, axis=None, keepdims=None, ddof",
     "std(x, axis=axis, keepdims=keepdims, where=x == x, ddof=ddof)"},
    /* Weights of one axis are those along the axis: here it is the last one of either operand. */
    {"average", "x, axis:whole, weights",
     "a = moveaxis(x, axis, -1); w = moveaxis(weights, axis, -1);"
     "sum(a * w, axis=-1) / sum(where(a == a, w, w), axis=-1)"},
    {"average", "x, axis=None, weights",
     "sum(x * weights, axis=axis) / sum(where(x == x, weights, weights), axis=axis)"},
    {"_close", "a, b, rtol, atol",
     "y = b * 1.0; (abs(a - y) <= atol + rtol * abs(y)) & isfinite(y) | (a == y)"},
    {"isclose", "a, b, rtol=1e-5, atol=1e-8, equal_nan=False", "_close(a, b, rtol, atol)"},
    {"isclose", "a, b, rtol=1e-5, atol=1e-8, equal_nan:True",
     "_close(a, b, rtol, atol) | (a != a) & (b != b)"},
    {"allclose", "a, b, rtol=1e-5, atol=1e-8, equal_nan=False", "all(isclose(a, b, rtol, atol))"},
    {"allclose", "a, b, rtol=1e-5, atol=1e-8, equal_nan:True",
     "all(isclose(a, b, rtol, atol, True))"},
    /* The largest number of a dtype is the one before infinity; whole numbers have neither. */
    {"_greatest", "x", "nextafter(_as(inf, x * 1.0), _as(0, x * 1.0))"},
    {"nan_to_num", "x, copy=True, nan=0, posinf=None, neginf=None", "_numbers(x, nan, posinf, neginf)"},
    {"_numbers", "x, nan, posinf:None, neginf:None",
     "_numbers(x, nan, _greatest(x), -_greatest(x))"},
    {"_numbers", "x, nan, posinf:None, neginf", "_numbers(x, nan, _greatest(x), neginf)"},
    {"_numbers", "x, nan, posinf, neginf:None", "_numbers(x, nan, posinf, -_greatest(x))"},
    {"_numbers", "x, nan, posinf, neginf",
     "s = signbit(x) & isinf(x); y = where(isinf(x) & ~s, _as(posinf, x), where(s, _as(neginf, x), x));"
     "where(x != x, _as(nan, x), y)"},
    {"nancumsum", "x, axis=None", "cumsum(where(x == x, x, 0), axis=axis)"},
    {"nancumprod", "x, axis=None", "cumprod(where(x == x, x, 1), axis=axis)"},
    {"nancumsum", "x, axis=None, dtype", "cumsum(where(x == x, x, 0), axis=axis, dtype=dtype)"},
    {"nancumprod", "x, axis=None, dtype", "cumprod(where(x == x, x, 1), axis=axis, dtype=dtype)"},
    {"vdot", "a, b", "dot(conj(ravel(a)), ravel(b))"},
    {"trapezoid", "y, x, axis=-1",
     "v = moveaxis(y, axis, -1); sum(diff(x) * (v[..., 1:] + v[..., :-1]) / 2.0, axis=-1)"},
    {"trapezoid", "y, dx=1, axis=-1",
     "v = moveaxis(y, axis, -1); sum(dx * (v[..., 1:] + v[..., :-1]) / 2.0, axis=-1)"},
    /* Beside its end xp is not used: there x has the value that stands there. */
    {"interp", "x, xp, fp", "_interp(x, xp, fp, float64(fp)[0], float64(fp)[-1])"},
    {"interp", "x, xp, fp, left", "_interp(x, xp, fp, float64(left), float64(fp)[-1])"},
    {"interp", "x, xp, fp, left, right", "_interp(x, xp, fp, float64(left), float64(right))"},
    {"interp", "x, xp, fp, right", "_interp(x, xp, fp, float64(fp)[0], float64(right))"},
    {"_interp", "x, xp, fp, left, right",
     "v = float64(x); p = float64(xp); f = float64(fp); i = _search_right(p, v);"
     "a = take(p, i - 1, mode=clip); b = take(p, i, mode=clip);"
     "y = take(f, i - 1, mode=clip); z = take(f, i, mode=clip);"
     "w = where(v < p[0], left, where(v >= p[-1], where(v > p[-1], right, f[-1]), (z - y) / (b - a) * (v - a) + y));"
     "where((p.size == 1) & (v != v), f[0], w)"}, /* as NumPy has it */
    /* Of rows of variables; all rows have as many observations, which divide a column of the products. */
    {"_products", "x, less",
     "y = x * broadcast_to(1.0, ()); d = y - mean(y, axis=-1, keepdims=True);"
     "(d @ conj(d).T) / maximum(sum(where(y == y, 1, 1), axis=-1) - less, 0)"},
    {"cov", "m, rowvar=True, bias=False", "squeeze(_products(m, 1))"},
    {"cov", "m, rowvar:False, bias=False", "squeeze(_products(m.T, 1))"},
    {"cov", "m, rowvar=True, bias:True", "squeeze(_products(m, 0))"},
    {"cov", "m, rowvar:False, bias:True", "squeeze(_products(m.T, 0))"},
    {"cov", "m, rowvar=True, ddof:whole", "squeeze(_products(m, ddof))"},
    {"cov", "m, rowvar:False, ddof:whole", "squeeze(_products(m.T, ddof))"},
    {"corrcoef", "x, rowvar=True",
     "c = _products(x, 0); s = sqrt(real(diag(c))); squeeze(clip(real(c / s[:, None] / s), -1, 1))"},
    {"corrcoef", "x, rowvar:False", "corrcoef(x.T)"},
    {"flatten", "x", "ravel(x)"},
    {"copy", "x", "x"},
    {"softmax", "x, axis:whole",
     "e = exp(x - max(x, axis=axis, keepdims=True)); e / sum(e, axis=axis, keepdims=True)"},
    {"softmax", "x", "softmax(x, axis=-1)"},
    {"log_softmax", "x, axis:whole",
     "d = x - max(x, axis=axis, keepdims=True); d - log(sum(exp(d), axis=axis, keepdims=True))"},
    {"log_softmax", "x", "log_softmax(x, axis=-1)"},
    {"convolve", "a, v, mode:full", "_convolve(a, v, 0)"},
    {"convolve", "a, v, mode:same", "_convolve(a, v, 1)"},
    {"convolve", "a, v, mode:valid", "_convolve(a, v, 2)"},
    {"convolve", "a, v", "_convolve(a, v, 0)"},
    {"correlate", "a, v, mode:full", "_correlate(a, v, 0)"},
    {"correlate", "a, v, mode:same", "_correlate(a, v, 1)"},
    {"correlate", "a, v, mode:valid", "_correlate(a, v, 2)"},
    {"correlate", "a, v", "_correlate(a, v, 2)"},
    /* The numbers i, where p are probabilities. */
    {"_by", "p, i",
     "q = float64(p); e = float64(spacing(p[0] * 0 + 1)); s = sum(q);"
     "_need((min(q) >= 0) & (abs(s - 1) <= sqrt(e)), i, s, 0)"},
    {"choice", "key, n, size, replace=True, p",
     "q = broadcast_to(p, n); c = cumsum(float64(q));"
     "_by(q, searchsorted(c / c[-1], random(key, size), side='right'))"},
    {"choice", "key, n, size, replace:False, p",
     "q = broadcast_to(p, n); k = _at_least(n, size, 'n without replacement');"
     "t, i = topk(q / standard_exponential(key, n), size); _by(q, i)"},
    {"choice", "key, n, size, replace=True", "integers(key, size, 0, n)"},
    {"choice", "key, n, size, replace:False",
     "k = _at_least(n, size, 'n without replacement'); permutation(key, n)[:size]"},
    {"multivariate_normal", "key, mean, cov, size",
     "standard_normal(key, (arange(size)[:, None] + mean).shape) @ cholesky(cov).T + mean"},
};

const size_t kiln__written_count = KILN_COUNT_OF(kiln__written_rows);
