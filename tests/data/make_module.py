#!/usr/bin/env python3
"""Make the seeds of tests/fuzz/corpus/module: images, names, sources and signatures of modules.

The small cubins are written here field by field, as the second implementation of what src/module/cubin.c
reads. Usage: make_module.py [FOLDER]
"""

import pathlib
import struct
import sys


def cubin(params, name=b"f", machine=190, large=False):
    """An ELF file with one kernel and its list of parameters: (number, offset, size)."""
    info = struct.pack("<BBH", 3, 0x1B, 0xFF)
    for number, offset, size in params:
        word = size if large else size << 18 | 0x1F000
        info += struct.pack("<BBHIHHI", 4, 0x45 if large else 0x17, 12, 0, number, offset, word)
    texts = b"\0" + name + b"\0"
    titles = b"\0.strtab\0.symtab\0.shstrtab\0.nv.info." + name + b"\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0x10, 4, 0, 16)
    bodies = [texts, symbols, titles, info]
    kinds = [3, 2, 3, 0x70000000]
    at, table, data = 64, [bytes(64)], b""
    for number, (body, kind) in enumerate(zip(bodies, kinds)):
        title = [1, 9, 17, 27][number]
        table.append(struct.pack("<IIQQQQIIQQ", title, kind, 0, 0, at + len(data), len(body),
                                 1 if kind == 2 else 0, 0, 1, 24 if kind == 2 else 0))
        data += body
    data += bytes(-len(data) % 8)
    head = b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7)
    head += struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 0, at + len(data), 0x6005A04, 64, 56, 0,
                        64, 5, 3)
    return head + data + b"".join(table)


def names(binary, texts, count=None, size=None):
    body = binary + b"".join(t + b"\0" for t in texts)
    return body + struct.pack("<QII", len(binary) if size is None else size,
                              len(texts) if count is None else count, 0x314D414E)


THREE = [(2, 16, 4), (1, 8, 8), (0, 0, 8)]
SEEDS = {
    "cubin": b"i" + cubin(THREE),
    "cubin_none": b"i" + cubin([]),
    "cubin_large": b"i" + cubin([(0, 0, 3200), (1, 3200, 8)], large=True),
    "cubin_gap": b"i" + cubin([(0, 0, 8), (2, 8, 8)]),
    "cubin_twice": b"i" + cubin([(0, 0, 8), (0, 8, 8)]),
    "cubin_many": b"i" + cubin([(k, 4 * k, 4) for k in range(300)]),
    "cubin_program": b"i" + cubin(THREE, machine=62),
    "cubin_cut": b"i" + cubin(THREE)[:-70],
    "ptx": b"i// x\n.version 8.0\n.target sm_80\n.visible .entry f(.param .u64 a) { ret; }\n",
    "ptx_nul": b"i.version 8.0\0.target",
    "fatbin": b"i" + struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 4) + b"abcd",
    "fatbin_cut": b"i" + struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 2**64 - 8) + b"abcd",
    "names": b"n" + names(b"binary", [b"_Z1fIiEvv"]),
    "names_two": b"n" + names(b"", [b"f", b"g"]),
    "names_count": b"n" + names(b"binary", [b"f"], count=3),
    "names_size": b"n" + names(b"binary", [b"f"], size=2**64 - 1),
    "names_empty": b"n" + names(b"binary", [b""]),
    "source": b"sextern \"C\" { __global__ void f(int *x) { x[0] = 1 / x[1]; } }\n"
              b"template <class T> __global__ void g(T) {}\n__constant__ float t[] = {1, 2};\n",
    "source_conditions": b"s#if A\n__global__ void f(int) {\n#else\n__global__ void f(float) {\n#endif\n}\n",
    "source_brackets": b"s__global__ void f(( { [ } ) ; __device__ a<b<c>> d, e = { ; }}}",
    "source_ends": b"s__global__ void __launch_bounds__(1) f(",
    "signature": b"#raw const float32 x, raw T y, int32 n, unsigned int i",
    "signature_wrong": b"#raw raw const x,, T",
    "signature_many": b"#" + b", ".join(b"int8 p%d" % k for k in range(70)),
}

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                      pathlib.Path(__file__).parent.parent / "fuzz/corpus/module")
folder.mkdir(parents=True, exist_ok=True)
for name, data in SEEDS.items():
    (folder / name).write_bytes(data)
