"""Texts that NumPy and kiln must answer alike, a line each: the forms of each function, with correct arguments and
with mistakes.

`tabled` draws one of them, with inputs of the names below in random dtypes; `test_numpy_text.py --lines` takes all of
them in turn. A line that NumPy refuses must be refused. What is drawn from parts stands in functions.py.
"""
import re

import numpy as np

from draw import DTYPES, Rejected

INDICES = {
    "idx": [0, 4, -2], "idy": [3, -1, 0], "idz": [1, 0, 2], "idx3": [0, 2, -1], "badshape": [0, 1], "big": [7, -9, 3, 22],
    "ivm": [0, 8, -9], "iv": [[8, 0], [-1, 3]], "s0": 2, "idxcol": [[0], [1], [2], [3], [-1]], "ii": [1, -2, 4],
    "cnt5": [1, 0, 2, 1, 1], "neg": [1, -1, 2],
}
SHAPES = {"x": (5, 4), "y": (5, 4), "t": (5, 4, 3), "q": (5, 3, 4), "v": (9,), "u": (9,), "w": (4,), "w6": (6, 4), "w2": (4, 2),
          "s": (), "e": (0,), "e0": (0, 4), "i5": (5, 2), "c5": (5, 1), "vcol": (5, 1), "vidx": (3,), "a3": (5, 3), "b3": (5, 3)}
FLOATS = {"f": (5, 4), "g": (9,), "h": (9,), "w9": (9,), "pts": (9, 2)}
MASKS = {"m": (5,), "n": (4,), "mm": (5, 4), "m2": (5, 4), "n2": (4,), "m24": (4, 3), "mv": (9,)}
SMALL = ("w6", "w2", "w", "c5", "vcol", "vidx", "a3", "b3", "i5")  # whole numbers


def input_of(d, name, dtype):
    """The value of a name; all arrays of a line that are not of a fixed dtype have the same."""
    rng = d.rng
    if name in INDICES:
        return np.array(INDICES[name])
    if name in MASKS:
        return rng.integers(0, 2, MASKS[name]).astype(bool)
    if name in FLOATS:
        return np.round(rng.random(FLOATS[name]) * 7 - 2, 2)
    if name in SMALL:
        x = rng.integers(0, 5, SHAPES[name]).astype(dtype)
        return x if np.dtype(dtype).kind in "bu" else x - 2 * x[..., ::-1]
    if name in SHAPES:
        return d.numbers(SHAPES[name], dtype)
    fixed = {
        "idx8": lambda: np.array([1, -1], "int8"), "idx16": lambda: np.array([[1], [-1]], "int16"),
        "idxu8": lambda: np.array([1, 4], "uint8"), "idxu16": lambda: np.array([1, 4], "uint16"),
        "idxu64": lambda: np.array([1, 4], "uint64"), "fidx": lambda: np.array([1.0, 2.0]),
        "empty_i": lambda: np.zeros(0, "int64"), "lab": lambda: rng.integers(0, 6, 5), "cnt": lambda: rng.integers(0, 4, 9),
        "ch": lambda: rng.integers(0, 2, (5, 4)), "k6": lambda: rng.integers(0, 6, 9), "r": lambda: rng.integers(0, 2, (9, 2)).astype(dtype),
        "sv": lambda: np.sort(d.numbers((9,), dtype)), "idxd": lambda: d.numbers((2, 4), "float64"),
        "wi": lambda: rng.integers(0, 5, (5, 4)), "wf": lambda: rng.random((5, 4)), "coords": lambda: np.cumsum(rng.integers(1, 4, 9)) * 1.0,
        "qs": lambda: np.array([0.1, 0.5, 1.0]), "bins": lambda: np.array([-1, 0, 0.5, 2.5]), "badbins": lambda: np.array([0, 2.0, 1]),
    }
    return fixed[name]()


NAMES = re.compile(r"(?<![\w.'\"])([a-z]\w*)(?![\w(='\"])")


def tabled(d):
    line = TABLE[d.number % len(TABLE)] if d.in_order else d.among(*TABLE)
    dtype = d.among(*DTYPES)
    if ":: " in line:
        only, line = line.split(":: ")
        dtype = d.among(*(t for t in DTYPES if np.dtype(t).kind in only))
    found, parts = [], []
    d.plain = np.dtype(dtype).kind == "c"

    def place(match):
        name = match[1]
        if name not in found:
            try:
                value = input_of(d, name, dtype)
            except KeyError:
                return name
            found.append(name)
            parts.append(d.input(value=value, listed=False))
        return "{%d}" % found.index(name)
    text = NAMES.sub(place, line)
    if any(p.kind == "f" and p.dtype.itemsize == 2 and not np.isfinite(p.value).all() for p in parts) and "unique" in line:
        raise Rejected  # NumPy orders NaN of float16 before numbers here, and nowhere else
    d.add_text(text, *parts)


TABLE = [line.strip() for line in """
x[idx]
x[:, idy]
x[idx, idy]
x[idx[:,None], idy]
x[idx[:,None], 1:3]
x[idx, None]
x[None, idx]
x[idx, ..., None]
x[..., idy]
x[1, idy]
x[idx, 1]
x[idx, 1:]
x[1:3, idy]
q[idx, :, idz]
q[:, idx3, idz]
q[idx, None, idz]
q[idx, 0, idz]
q[0, :, idz]
q[:, 0, idz]
q[..., idz]
q[..., idz, None]
q[[0,1], [1,2], [0,3]]
x[[0, 2]]
x[[-1]]
x[[[0,1],[2,3]]]
take(x, idx, axis=0)
take(x, idx, 0)
take(x, idy, axis=-1)
take(x, idx)
take(x, [[0,1],[2,3]])
take(x, 3)
take(x, 1, axis=0)
take(x, -1, axis=1)
take(x, big, axis=0, mode='wrap')
take(x, big, axis=0, mode='clip')
take(x, big, mode='clip')
x.take(idx, axis=0)
take_along_axis(x, argsort(x, axis=1), 1)
take_along_axis(x, argsort(x, axis=1), axis=1)
take_along_axis(x, argsort(x, axis=0), axis=0)
take_along_axis(x, argsort(x, axis=None), None)
take_along_axis(x, idx, axis=None)
take_along_axis(v, ivm, 0)
sum(x[idx] * 2, axis=1)
sum(w6[lab] * x, axis=1)
x[idx8]
x[idxu8]
x[idxu16]
x[idxu64]
x[idx16]
x[empty_i]
x[empty_i, :]
take(x, empty_i, axis=1)
e0[empty_i]
v[iv]
v[iv][::-1]
v[::-1][iv]
x[::-1, ::-2][idx]
x[s0]
x[s0, :]
x[:, s0]
x[0][idy]
x[0, 1]
x[0, -1]
x[None]
x[...]
x[..., None]
put(x, idx, 9)
put(x, [0, -1], [5, 6])
put_along_axis(x, idxcol, 7, 1)
put_along_axis(x, idxcol, vcol, 1)
put_along_axis(x, idxcol, vcol, axis=1)
put_along_axis(x, idx, 7, None)
x.at[idx].set(1)
x.at[idx].add(1)
x.at[idx].multiply(2)
x.at[idx].minimum(1)
x.at[idx].maximum(1)
x.at[idx, idy].add(vidx)
x.at[:, idy].add(1)
x.at[1:, 0].set(3)
x.at[0].set(3)
x.at[::-1].set(x)
x.at[..., 0].set(9)
scatter_add(x, idx, 1)
scatter_add(x, idx, x[:3])
scatter_multiply(x, idx, 2)
scatter_minimum(x, idx, 0)
scatter_maximum(x, idx, 0)
scatter_set(x, idx, 0)
x[m2]
x[m]
x[x > 0]
x[~(x > 0)]
x[m2 & (x > 0)]
x[m, 1]
x[m, 1:]
x[:, n]
x[None, m]
x[..., n]
x[m, None]
x[0, n]
x[m, 0]
t[m2]
t[m2, 0]
t[m, :, 1]
t[:, n]
t[:, m24]
compress(m, x, axis=0)
compress(n, x, axis=1)
compress(n, x, axis=-1)
extract(m2, x)
extract(x > 0, x)
extract(x, x)
extract(x > 0, y)
nonzero(v)
v[nonzero(v)]
flatnonzero(x)
flatnonzero(x > 0)
argwhere(x)
argwhere(v)
argwhere(x > 1)[:, 0]
where(x > 0, x, 0)
where(m[:, None], x, -x)
where(x, 1, 2)
place(x, m2, [1, 2])
place(x, m2, v)
place(x, x > 0, v)
select([x > 0, x < 0], [x, -x], 7)
select([x > 0, x < 0], [x, -x])
select([x > 0, x < 0], [1, 2], 3)
select([m[:, None], n], [x, y])
choose(ch, [x, y])
choose(ch, [x, y, 7])
choose(ch, (x, y, x))
choose(ch, [x, y], mode='clip')
choose(ch, [x, y], mode='wrap')
choose([0, 1, 1, 0], [x[0], y[1]])
ch.choose([x, y])
count_nonzero(x)
count_nonzero(x, axis=0)
count_nonzero(x, axis=(0, 1))
count_nonzero(x, axis=1, keepdims=True)
count_nonzero(x[m])
unique(x)
unique(x, return_index=True)
unique(x, return_inverse=True)
unique(x, return_counts=True)
unique(x, return_index=True, return_inverse=True, return_counts=True)
unique(r, axis=0)
unique(r, axis=0, return_inverse=True)
unique(e0)
unique(e0, axis=1)
unique(e)
unique(v)[::-1]
unique(v)[0]
sum(unique(v))
x[m].max()
x[m].astype(float64)
exp(x[m])
x[x > 0] + 1
x[x > 0] + x[x > 0]
(x * 2)[x > 0]
partition_copy(x, m2)
partition_copy(x, x > 0)
partition_copy(v, mv)
x[m2].sum()
x[m2].mean()
x[m2].std()
x[m2].var()
x[m2].min()
x[m2].max()
x[m2].prod()
x[m2].any()
x[m2].all()
x[m2].argmax()
x[m2].cumsum()
x[m2][0]
x[m2][-1]
x[m2][1:3]
isnan(x)[m]
x[isnan(x)]
x[~isnan(x)].sum()
concatenate([x, y])
concatenate([x, y], axis=1)
concatenate([x, y], axis=-1)
concatenate((x, y), 1)
concatenate([x, y], axis=None)
concatenate([x, idxd], axis=0)
concatenate([x, i5], axis=1)
concatenate([x], axis=0)
concatenate([x, e0], axis=0)
concatenate([e, v])
stack([x, y])
stack([x, y], axis=1)
stack([x, y], axis=-1)
stack([v, v * 2, v])
hstack([x, y])
hstack([v, v])
vstack([v, v])
vstack([x, y])
dstack([x, y])
dstack([v, v])
column_stack([v, v])
column_stack([x, c5])
append(x, y)
append(x, y, axis=0)
append(v, [1, 2])
split(v, 3)
split(x, 2, axis=1)
split(x, [1, 3])
split(x, (1, 3), axis=1)
split(x, 5)[2]
array_split(v, 4)
array_split(x, 3, axis=1)
array_split(v, [2, 5])
hsplit(x, 2)
vsplit(x, 5)
dsplit(t, 3)
tile(x, 2)
tile(x, (2, 1))
tile(x, (2, 1, 3))
tile(v, 0)
tile(v, (2, 2))
repeat(x, 2)
repeat(x, 2, axis=1)
repeat(x, [1, 2, 0, 1, 3], axis=0)
repeat(x, (1, 2, 0, 1), axis=1)
repeat(v, 0)
repeat(x, [2], axis=0)
x.repeat(3, axis=0)
pad(x, 1)
pad(x, 1, mode='edge')
pad(x, 1, mode='reflect')
pad(x, 1, mode='symmetric')
pad(x, 1, mode='wrap')
pad(x, ((1, 2), (0, 3)), mode='reflect')
pad(x, ((1, 2),), mode='edge')
pad(x, 2, mode='linear_ramp')
pad(x, 2, mode='linear_ramp', end_values=3)
pad(x, 2, mode='maximum')
pad(x, 2, mode='minimum')
pad(x, 2, mode='mean')
pad(x, 2, mode='median')
pad(x, 2, mode='maximum', stat_length=2)
pad(x, 2, mode='mean', stat_length=2)
pad(x, 7, mode='reflect')
pad(x, 7, mode='symmetric')
pad(x, 7, mode='wrap')
pad(x, 0)
pad(v, (2, 0), mode='empty')[2:]
pad(v, 3)
roll(x, 1)
roll(x, 1, axis=0)
roll(x, -2, axis=1)
roll(x, (1, 2), axis=(0, 1))
roll(x, 2, axis=(0, 1))
roll(x, 100, axis=0)
roll(e, 1)
rot90(x)
rot90(x, 2)
rot90(x, -1)
rot90(x, 1, (1, 0))
rot90(t, 1, (1, 2))
flip(x)
flip(x, 0)
flip(x, (0, 1))
flip(x, axis=-1)
fliplr(x)
flipud(x)
swapaxes(x, 0, 1)
moveaxis(t, 0, -1)
moveaxis(t, (0, 1), (2, 0))
moveaxis(t, [0, 1], [2, 0])
transpose(t, (2, 0, 1))
t.transpose(2, 0, 1)
t.transpose((2, 0, 1))
squeeze(x[None])
squeeze(x[None], axis=0)
squeeze(x[None, :, None], axis=(0, 2))
x[None].squeeze()
expand_dims(x, 0)
expand_dims(x, -1)
atleast_1d(s)
atleast_2d(v)
atleast_3d(x)
atleast_3d(v)
atleast_3d(s)
atleast_2d(s)
diag(x)
diag(x, 1)
diag(x, -2)
diag(x, 9)
diag(v)
diag(v, 2)
diag(v, -1)
diagflat(x)
diagflat(v, 1)
diagonal(x)
diagonal(x, 1)
diagonal(t, 0, 1, 2)
diagonal(t, offset=1, axis1=0, axis2=2)
x.diagonal()
tri(3)
tri(3, 4, 1)
tri(3, 4, -1, dtype=int32)
tril(x)
tril(x, -1)
triu(x, 2)
triu(t)
eye(3)
eye(3, 4)
eye(3, 4, 1, dtype=int8)
eye(3, k=-1)
identity(3)
meshgrid(v, w)
meshgrid(v, w, indexing='ij')
indices((2, 3))
indices((2, 3, 2))
broadcast_arrays(x, x[0])
broadcast_arrays(x, x[0], x[:, :1])
broadcast_to(v, (3, 9))
sliding_window_view(v, 3)
sliding_window_view(x, (2, 2))
sliding_window_view(x, 2, axis=0)
sliding_window_view(x, (2, 3), axis=(0, 1))
insert(v, [1, 3], [8, 9])
insert(x, 1, x[0], axis=0)
insert(x, 1, c5[:, 0], axis=1)
insert(x, 1, [1, 2, 3, 4, 5], axis=1)
insert(v, ii, 5)
insert(v, ii, v[:3])
delete(v, 1)
delete(v, [1, 3])
delete(v, (1, 3))
delete(v, -1)
delete(x, 1, axis=0)
delete(x, [0, 2], axis=1)
delete(x, 3)
delete(v, ii)
delete(v, mv)
delete(x, m, axis=0)
block([[x, y], [y, x]])
block([x, y])
block([v, w])
block([[v], [v]])
trace(x)
trace(x, 1)
trace(t, 0, 1, 2)
trace(x, offset=-1)
trace(x, dtype=float64)
x.trace()
cross(a3, b3)
cross(a3, b3[0])
diff(x, n=0)
ediff1d(v)
ediff1d(x)
convolve(v, w)
convolve(v, w, 'same')
convolve(v, w, mode='valid')
convolve(w, v, 'same')
correlate(v, w)
correlate(v, w, 'full')
correlate(v, w, 'same')
reshape(x, (4, 5))
reshape(x, 20)
reshape(x, -1)
reshape(x, (2, -1, 5))
x.reshape(4, 5)
x.reshape(2, -1)
x.reshape((4, 5))
ravel(x)
x.flatten()
x.ravel()
flipud(v)
astype(x, float64)
logspace(0, 2, 5)
geomspace(1, 1000, 4)
linspace(0, 1, 5)
arange(5)
arange(1, 10, 3)
arange(10, 0, -3)
full((2, 3), 7)
ones_like(x)
sort(x)
sort(x, axis=0)
sort(x, axis=None)
sort(e)
sort(e0)
x.argsort()
argsort(x)
argsort(x, axis=0)
argsort(x, axis=None)
argsort(v)[::-1]
lexsort((v, u))
lexsort([v, u])
lexsort([v])
lexsort((v, u, v))
partition(v, 3)
partition(x, 1, axis=0)
partition(v, -1)
argpartition(v, 3)
topk(x, 2)
topk(x, 2, axis=0)
topk(x, 0)
topk(x, 2, largest=False)
median(x)
median(x, axis=0)
median(x, axis=1, keepdims=True)
median(x, axis=(0, 1))
median(x, axis=None, keepdims=True)
quantile(f, 0.3)
quantile(f, 0.3, axis=0)
quantile(f, 0.3, axis=1, keepdims=True)
quantile(f, [0.1, 0.9])
quantile(f, [0.1, 0.9], axis=0)
quantile(f, [0.1, 0.9], axis=0, keepdims=True)
quantile(f, (0.1, 0.9), axis=0)
quantile(f, 0.3, method='lower')
quantile(f, 0.3, method='nearest')
quantile(f, 0.3, method='inverted_cdf', axis=0)
quantile(f, 0.3, method='averaged_inverted_cdf')
quantile(f, 0.3, method='closest_observation')
quantile(f, 0.3, method='interpolated_inverted_cdf')
quantile(f, 0.3, method='hazen')
quantile(f, 0.3, method='weibull')
quantile(f, 0.3, method='median_unbiased')
quantile(f, 0.3, method='normal_unbiased')
quantile(f, 0.3, method='midpoint')
quantile(f, 0.3, method='higher')
quantile(f, 0.3, axis=(0, 1))
percentile(f, 30)
percentile(f, [10, 90])
percentile(f, [10, 90], axis=1)
percentile(f, 30, axis=0, keepdims=True)
nanmedian(x)
nanmedian(x, axis=0)
nanmedian(x, axis=0, keepdims=True)
nanquantile(f, 0.3, axis=0)
nanquantile(f, [0.3, 0.5], axis=0)
nanpercentile(f, 30)
searchsorted(sv, v)
searchsorted(sv, v, side='right')
searchsorted(sv, 3)
searchsorted(sv, 3.5, side='right')
searchsorted(sv, [1, 2, 3])
searchsorted(sv, x)
searchsorted(v, u, sorter=argsort(v))
sv.searchsorted(v)
searchsorted(e, v)
searchsorted(sv, f)
digitize(f, bins)
digitize(f, bins, right=True)
digitize(f, bins[::-1])
digitize(f, [0, 1, 2])
digitize(f, [0.0, 1.0, 2.5], right=True)
digitize(3, bins)
digitize(f, bins[:1])
histogram(f)
histogram(f, 5)
histogram(f, bins=5)
histogram(f, bins)
histogram(f, [0, 1, 2, 3])
histogram(f, 5, range=(0, 3))
histogram(f, 5, (0, 3))
histogram(f, 5, density=True)
histogram(f, bins, density=True)
histogram(f, 5, range=(3, 3))
np.histogram2d(g, h, 5)
histogramdd([g, h, g], 3)
histogramdd([g, h], [3, 4])
histogramdd((g, h), (3, 4))
histogramdd([g, h], [bins, 4])
histogramdd(pts, [3, 4])
histogramdd(pts, (3, 4))
bincount(k6, length=6)
isin(x, [1, 2])
isin(x, v)
isin(x, v, invert=True)
isin(x, 1)
isin(x, e)
in1d(x, v)
isin(x, f)
union1d(x, v)
intersect1d(x, v)
setdiff1d(x, v)
union1d(x, [1, 2])
intersect1d(x, f)
unique(concatenate([v, u]))
ptp(x)
ptp(x, axis=0)
argmax(x)
argmax(x, axis=1)
argmax(x, axis=1, keepdims=True)
argmin(x, axis=0)
nanargmax(f)
nanmax(f)
cumsum(x, axis=0)
cumsum(x)
x.cumsum(axis=0)
cumprod(x, axis=0)
nancumsum(f)
nancumprod(f, axis=0)
corrcoef(f)
cov(f)
median(f[f > 0])
topk(f[f > 0], 2)
take(x, big, axis=0)
take_along_axis(x, idx, 0)
x[fidx]
x[idx, idy, idz]
x[idx, badshape]
x[9]
x[-6]
x[:, 4]
e0[idx]
put(x, big, 1)
x.at[idx].set(v)
x[n2]
partition_copy(x, m)
x[m2][100]
concatenate([x, v])
concatenate([x, y], axis=2)
stack([x, y], axis=3)
stack([x, v])
split(v, 2)
vsplit(v, 3)
tile(v, -1)
repeat(x, [1, 2], axis=1)
repeat(v, -1)
pad(x, -1)
pad(x, (1, 2, 3))
pad(x, ((1, 2), (3, 4), (5, 6)))
pad(x, 2, mode='nonsense')
roll(x, 1, axis=5)
rot90(v)
fliplr(v)
squeeze(x, axis=0)
diag(t)
diagonal(v)
broadcast_to(v, (9, 3))
sliding_window_view(v, 30)
insert(v, 100, 5)
insert(v, [0, 100], 5)
delete(v, 100)
trace(v)
diff(v, n=-1)
gradient(v[:1])
convolve(v, w, mode='nonsense')
convolve(e, v)
convolve(x, v)
reshape(x, (3, -1))
sort(x, axis=5)
sort(s)
topk(x, 9)
topk(x, -1)
quantile(f, 0.3, method='nonsense')
quantile(f, 1.3)
quantile(f, -0.1)
quantile(f, [0.1, 1.9])
percentile(f, 101)
searchsorted(x, v)
searchsorted(sv, v, side='nonsense')
digitize(f, badbins)
histogram(f, badbins)
histogram(f, 0)
histogram(f, -1)
histogram(f, 2.5)
histogram(f, 5, range=(3, 1))
bincount(neg)
bincount(g)
x.shape[0]
x.shape[-1]
fc:: x * x.shape[0]
fc:: x / x.shape[1]
sum(x) / x.size
x.size
x.ndim
len(x)
x[:x.shape[0] // 2]
x[x.shape[0] - 1]
zeros(x.shape)
zeros((x.shape[0], 2))
ones((x.shape[1], x.shape[0]))
arange(len(x))
arange(1, len(v), 2)
arange(x.size).reshape(x.shape)
x.reshape(x.shape[1], x.shape[0])
reshape(x.T, x.shape)
reshape(x, (x.shape[0] * x.shape[1],))
x.reshape(x.shape[0], -1)
eye(x.shape[0], x.shape[1])
linspace(0, 1, len(v))
broadcast_to(v, (3, len(v)))
full((len(x), 2), 7)
tile(v, x.shape[0])
repeat(v, x.shape[1])
roll(v, len(v) // 2)
x[:, x.shape[1] // 2:]
v[len(v) - 2:]
v[-len(x):]
v[len(v)]
v[:len(e)]
v[::len(e)]
zeros(len(e) - 1)
topk(v, len(x))
pad(v, len(x))
shape(x)[1]
size(x)
ndim(x)
size(x, 0)
x.sum() / len(x)
(x.shape[0] + 1) * v
len(x) / 2
len(x) ** 2 - 3
len(x) > 3
where(iota(x, 0) < len(x) // 2, x, 0)
(x * 2).shape[0]
x[1:].shape[0]
concatenate([x, x]).shape[0]
len(x) + len(v)
uniform(3, (len(x), 2))
x.sum(axis=0) / x.shape[0]
arange(len(x))[:, None] * arange(x.shape[1])
take(x, arange(len(x)) - 1, axis=0)
x[arange(len(x))[::-1]]
x[arange(len(v)) % len(x)]
x[len(x) - 1, [0, 1]]
x[len(x), [0, 1]]
minimum(len(x), 3)
ifc:: float32(len(x)) * v
v[mv][:len(x) - 3]
isin(x, [len(x), 3])
x.at[len(x) - 1].set(len(v))
iufc:: insert(v, len(v), 3)
delete(v, len(x))
ifc:: gradient(v, len(x))
""".split("\n") if line.strip() and not line.startswith("#")]

WEIGHTS = {tabled: 8}
