"""Timelines, tables and logs of what happens, from Python."""
import csv
import json
import pathlib
import tempfile
import unittest

import numpy as np

import kiln


class Observe(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "file"
        self.kernel = kiln.ElementwiseKernel("T x", "T y", "y = 3 * x", "observed_kernel")

    def test_a_timeline_names_kernels_and_scopes(self):
        with kiln.timeline(self.path, device="cpu"), kiln.scope("a part"):  # where NumPy's arrays are
            self.kernel(np.ones(1000, np.float32))
        events = json.loads(self.path.read_text())
        events = events["traceEvents"] if isinstance(events, dict) else events
        text = json.dumps(events)
        self.assertIn("observed_kernel", text)
        self.assertIn("a part", text)
        size = self.path.stat().st_size
        self.kernel(np.ones(10))
        self.assertEqual(self.path.stat().st_size, size)

    def test_a_log_has_a_line_for_each_allocation(self):
        log = kiln.memory_log(self.path)
        kept = kiln.empty(1000, "float64")
        del kept
        log.flush()
        rows = list(csv.DictReader(self.path.read_text().splitlines()))
        log.close()
        self.assertEqual([r["Action"] for r in rows][:2], ["allocate", "free"])
        self.assertGreaterEqual(int(rows[0]["Size"]), 8000)
        with self.assertRaises(ValueError):
            log.flush()

    def test_a_table_is_by_scope(self):
        with kiln.memory_table() as table:
            with kiln.scope("the large one"):
                kept = kiln.empty(1 << 16, "float64")
            self.assertIn("the large one", str(table))
        del kept
        self.assertIn("the large one", str(table))

    def test_the_cache_counts_compilations(self):
        def compiles():
            counters = kiln.cache_counters("cpu")
            return counters["compiles"] + counters["hits"]

        counted = kiln.ElementwiseKernel("T x", "T y", "y = 3 * x + 1", "counted_kernel")
        before = compiles()
        counted(np.ones(10))
        self.assertEqual(compiles(), before + 1)  # one for float64, compiled now or by a run before this
        counted(np.ones(20))
        self.assertEqual(compiles(), before + 1)
        counted(np.ones(10, np.float32))
        self.assertEqual(compiles(), before + 2)

    def test_a_file_that_cannot_be_written_is_an_error(self):
        with self.assertRaisesRegex(kiln.Error, "nowhere"):
            kiln.timeline("/nowhere/at/all.json")
        with self.assertRaises(kiln.Error):
            kiln.trace("/nowhere/at/all.json")  # of a path it is the same
        with self.assertRaises(TypeError):
            with kiln.scope(3):
                pass


if __name__ == "__main__":
    unittest.main()
