"""NumPy's arguments: each line is evaluated with NumPy's functions and with kiln's, which must give the same."""
import unittest
import warnings

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("no NumPy")
import kiln

RNG = np.random.default_rng(1)
X = np.round(RNG.random((5, 4)) * 7 - 2, 2)
VALUES = {
    "np": np, "x": X, "y": RNG.integers(-9, 9, (5, 4)).astype("int32"), "v": np.round(RNG.random(9) * 7 - 2, 2),
    "i8": np.array([3, 1, -2, 1], "int8"), "f4": X.astype("float32"), "n": np.array([1, np.nan, 2, np.nan, 1.0]), "m": X > 0,
    "u": np.array([0, 2, 1, 2], "uint8"), "z3": np.round(RNG.random((2, 3, 4)) * 9, 1),
}

LINES = """
median(np.zeros((0, 4)), axis=0)
median(np.zeros((0, 4), 'int8'), axis=1, keepdims=True)
append(i8,3)
append(i8,300)
append(f4,3)
append(f4[0],2.5)
append(arr=v,values=v)
unique(n,equal_nan=False)
unique(n,equal_nan=True)
unique(n,return_index=True,equal_nan=False)
unique(n,True,True,True,equal_nan=False)
unique(y,axis=0,equal_nan=False)
unique(i8,sorted=True)
unique(ar=i8)
sort(x,kind='stable')
sort(x,0,'stable')
sort(x,-1,kind='heapsort')
sort(a=x)
argsort(i8,kind='stable')
argsort(v,-1,'mergesort')
argsort(a=v)
np.sort(partition(v,(1,4)))
partition(v,(1,4))[4]
partition(v,[1,4])[1]
argpartition(v,(1,4)).shape
partition(v,2,kind='introselect')[2]
argpartition(v,2,kind='introselect').shape
argpartition(v,kth=2).shape
partition(a=v,kth=2)[2]
partition(v,np.array([1,2]))[2]
searchsorted(a=np.sort(v),v=1.0)
lexsort([x,y])
lexsort((x,y),axis=0)
lexsort(keys=(v,v))
lexsort(z3)
median(x,overwrite_input=True)
median(a=x)
median(x,axis=0,out=np.empty(4))
quantile(x,np.array([[0.1,0.5],[0.2,0.3]]),axis=0)
quantile(x,0.3,overwrite_input=True)
quantile(a=x,q=0.2)
quantile(x,0.3,0,out=np.empty(4))
quantile(f4,[0.1,0.5])
percentile(x,np.array([[10,20],[30,40]]))
percentile(a=x,q=3)
nanquantile(x,np.array([[0.1,0.5],[0.2,0.3]]),axis=0)
nanmedian(x,overwrite_input=True)
nanquantile(f4,[0.1,0.5])
isin(y,[1,2],assume_unique=False)
isin(y,[1,2],kind='sort')
isin(element=y,test_elements=[1])
intersect1d(i8,[1,3],return_indices=True)
setdiff1d(i8,[1],assume_unique=True)
setdiff1d(ar1=i8,ar2=[1])
histogram(a=v)
histogram_bin_edges(v,bins=5,range=None,weights=v)
digitize(x=v,bins=[0,1])
concatenate([x,y],dtype='float32')
concatenate((x,x),0,out=np.empty((10,4)))
concatenate([x,x],dtype='int8',casting='unsafe')
concat([x,y],dtype='float32')
stack([x,y],dtype='float32')
stack([x,y],1,out=np.empty((5,2,4)))
stack([x,y],axis=-1,casting='same_kind')
hstack([x,y],dtype='float32')
vstack([v,v],dtype='float32',casting='same_kind')
tile(A=v,reps=2)
repeat(a=v,repeats=2)
roll(a=x,shift=1)
rot90(m=x)
flip(m=x)
squeeze(a=x[None])
triu(m=x,k=1)
tril(v)
eye(3,M=4,k=1)
eye(N=3,dtype='int8')
eye(3,order='C')
meshgrid(v,v[:2],sparse=True)
meshgrid(v,v[:2],copy=False)
indices((2,3),dtype='float32')
split(ary=v,indices_or_sections=3)
trace(a=x)
outer(a=v,b=v)
cross(z3[0],z3[0],axisa=0,axisb=0,axisc=0)
diff(a=x)
pad(x,9,'reflect',reflect_type='odd')
pad(x,9,'symmetric',reflect_type='odd')
pad(x,{0:1})
take(a=x,indices=[0])
take(x,[0],0,out=np.empty((1,4)))
take_along_axis(arr=x,indices=np.argsort(x,1),axis=1)
choose(a=u,choices=[v[:4],v[1:5],v[2:6]])
compress(condition=[True],a=v)
extract(condition=m,arr=x)
nonzero(a=m)
argwhere(a=m)
count_nonzero(a=m)
average(x,axis=0,keepdims=True)
interp(v,[0,1,2],[3,4,5],left=9,right=-9)
trapezoid(v,dx=2)
trapezoid(y=x,axis=0)
nan_to_num(n,nan=3)
nan_to_num(n,copy=True,posinf=1)
cumsum(a=x)
nancumsum(x,axis=0,dtype='float32')
nanmean(x,where=m)
""".split("\n")[1:-1]

#: What NumPy refuses, and kiln.
REFUSED = """
sort(x, kind='bad')
sort(x, 0, 'bad')
partition(v, (1, 99))
concatenate([x, x], dtype='int8')
stack([x, x], dtype='int8', casting='safe')
concatenate([x, x], dtype='float32', casting='bad')
take(x, [0], 0, out=np.empty((2, 4)))
quantile(x, [0.5, 2.0])
quantile(x, np.array([0.5, -1.0]), axis=0)
sort(b=x)
median(x, kind='stable')
""".split("\n")[1:-1]


def plain(result):
    """Arrays of NumPy's, one behind the other."""
    if isinstance(result, (tuple, list)):
        return [array for part in result for array in plain(part)]
    return [np.asarray(kiln.asnumpy(result) if isinstance(result, kiln.ndarray) else result)]


def evaluated(line, library):
    names = {name: getattr(library, name) for name in dir(library) if name[0] != "_"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plain(eval(line, {**names, **VALUES}))


class Arguments(unittest.TestCase):
    def test_have_the_results_of_numpy(self):
        for line in LINES:
            with self.subTest(line):
                got, want = evaluated(line, kiln), evaluated(line, np)
                self.assertEqual([a.dtype for a in got], [a.dtype for a in want])
                for a, b in zip(got, want):
                    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)

    def test_are_refused_where_numpy_refuses_them(self):
        for line in REFUSED:
            with self.subTest(line):
                for library in (np, kiln):
                    with self.assertRaises((ValueError, TypeError)):
                        # an array is checked when its elements are read
                        evaluated(line, library), kiln.synchronize()

    def test_out_is_written_and_returned(self):
        for line in ("median(x, axis=0, out=o)", "take(x, [1], 0, out=p)"):
            values = {"o": np.empty(4), "p": np.empty((1, 4))}
            got = eval(line, {**vars(kiln), **VALUES, **values})
            for name, value in values.items():
                if f"out={name}" in line:
                    self.assertIs(got, value)


if __name__ == "__main__":
    unittest.main()
