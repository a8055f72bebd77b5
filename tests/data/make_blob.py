#!/usr/bin/env python3
"""Make the seeds of tests/fuzz/corpus/blob: cache files, whole and damaged, with their keys.

The format is written down in src/cache/blob.c; this is its second, independent implementation.
Needs the package xxhash (Debian: python3-xxhash). Usage: make_blob.py [FOLDER]
"""

import pathlib
import struct
import sys

import xxhash


def blob(key, payload, key_size=None, payload_size=None, version=1, header=64, reserved=bytes(16),
         padding=b"\0"):
    body = struct.pack("<QQ", len(key) if key_size is None else key_size,
                       len(payload) if payload_size is None else payload_size)
    body += reserved + key + padding * (-(64 + len(key)) % 16) + payload
    checksum = xxhash.xxh3_128_intdigest(body).to_bytes(16, "little")
    return b"KILNBLOB" + struct.pack("<II", version, header) + checksum + body


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


KEY = b"a key of a kernel"
GOOD = blob(KEY, b"a cubin of sorts")
# As keys of kernels begin; labels are cut where a blank, a quote or a byte that is no text comes.
LABELLED = b'kiln-kernel 1\ntarget sm_90\nsource 9\n// kiln: kernel "axpy"\n'
BAD_LABELS = (b"\ntarget " + b"t" * 40 + b'\xff kernel "' + b"k" * 100)

SEEDS = {
    "good": (KEY, GOOD),
    "good-aligned-key": (b"sixteen bytes ..", blob(b"sixteen bytes ..", b"x")),
    "good-empty-key": (b"", blob(b"", b"payload")),
    "good-empty-payload": (KEY, blob(KEY, b"")),
    "good-empty-both": (b"", blob(b"", b"")),
    "good-long": (KEY * 12, blob(KEY * 12, bytes(range(256)) * 4)),
    "labelled": (LABELLED, blob(LABELLED, b"a cubin of sorts")),
    "labels-too-long": (BAD_LABELS, blob(BAD_LABELS, b"a cubin of sorts")),
    "labels-cut": (b'\ntarget \x01kernel "', blob(b'\ntarget \x01kernel "', b"")),
    "other-key": (KEY, blob(b"a key of a kernez", b"a cubin of sorts")),
    "other-key-size": (KEY, blob(KEY[:-1], b"a cubin of sorts")),
    "empty-file": (KEY, b""),
    "magic-only": (KEY, GOOD[:8]),
    "header-only": (KEY, GOOD[:64]),
    "one-byte-short": (KEY, GOOD[:-1]),
    "one-byte-long": (KEY, GOOD + b"\0"),
    "wrong-magic": (KEY, flipped(GOOD, 3)),
    "wrong-checksum": (KEY, flipped(GOOD, 20)),
    "wrong-payload": (KEY, flipped(GOOD, len(GOOD) - 1)),
    "future-version": (KEY, blob(KEY, b"a cubin of sorts", version=2)),
    "longer-header": (KEY, blob(KEY, b"a cubin of sorts", header=128)),
    "reserved-set": (KEY, blob(KEY, b"a cubin of sorts", reserved=b"r" * 16)),
    "padding-set": (KEY, blob(KEY, b"a cubin of sorts", padding=b"p")),
    "key-size-huge": (KEY, blob(KEY, b"a cubin of sorts", key_size=2**64 - 1)),
    "key-size-wraps": (KEY, blob(KEY, b"a cubin of sorts", key_size=2**64 - 64)),
    "payload-size-huge": (KEY, blob(KEY, b"a cubin of sorts", payload_size=2**64 - 1)),
    "payload-size-wraps": (KEY, blob(KEY, b"a cubin of sorts", payload_size=2**64 - 96)),
    "sizes-swapped": (KEY, blob(KEY, b"a cubin of sorts", key_size=16, payload_size=17)),
}


def main():
    here = pathlib.Path(__file__).resolve().parent
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "../fuzz/corpus/blob"
    folder.mkdir(parents=True, exist_ok=True)
    for name, (key, data) in SEEDS.items():
        (folder / name).write_bytes(bytes([len(key)]) + key + data)


main()
