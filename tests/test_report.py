"""bench/report.py: what it makes of the result files that are kept, and of one made up here.

    python3 test_report.py SOURCE

The tables and charts in bench/results must be those that their result files give, every chart must
be XML and hold every row, and every bar must be as long as its figure says.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

SOURCE = sys.argv.pop(1)
REPORT = os.path.join(SOURCE, "bench", "report.py")
KEPT = os.path.join(SOURCE, "bench", "results")
SVG = "{http://www.w3.org/2000/svg}"
PEERS = {"cupy": "CuPy", "cupy_cub": "CuPy with CUB", "torch": "PyTorch", "jax": "JAX",
         "numpy": "NumPy", "numexpr": "numexpr"}

# Shares by hand: 300 of 400, 100 of 400; 4 over 8 us. The third has neither limit nor peer, and
# the fourth only a peer, which is the faster one.
MADE_UP = {"date": "2026-01-02", "kiln": "9.9", "commit": "abc", "device": "D", "driver": "V",
           "compiler": "C", "rows": [
               {"case": "a", "label": "x < y & z", "unit": "GB/s", "kiln": 300.0, "limit": 400.0,
                "rule": "at least", "target": 0.9, "met": False, "cupy": 100.0},
               {"case": "b", "label": "a call", "unit": "us", "kiln": 8.0, "limit": 4.0,
                "rule": "over by", "target": 1, "met": False},
               {"case": "c", "label": "alone", "unit": "us", "kiln": 0.015},
               {"case": "d", "label": "beside | a peer", "unit": "GB/s", "kiln": 50.0,
                "torch": 200.0}]}


def report(*arguments):
    done = subprocess.run([sys.executable, "-B", REPORT, *arguments], stdout=subprocess.PIPE,
                          encoding="utf-8", check=True)
    return done.stdout


def row_groups(path):
    """The <title> of each row's group, with the group."""
    root = ElementTree.parse(path).getroot()
    return {group.find(SVG + "title").text: group for group in root.iter(SVG + "g")}


def read(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


class Kept(unittest.TestCase):
    def test_report__the_kept_pages_and_charts_are_those_of_the_kept_files(self):
        with tempfile.TemporaryDirectory() as out:
            report("--kept", KEPT, out)
            made = sorted(os.listdir(out))
            kept = [os.path.basename(path) for kind in ("*.md", "*.svg")
                    for path in glob.glob(os.path.join(KEPT, kind))]
            self.assertEqual(made, sorted(kept))
            for name in made:
                self.assertEqual(read(os.path.join(out, name)), read(os.path.join(KEPT, name)),
                                 f"{name}: run `bench/report.py --kept bench/results`")

    def test_report__every_row_stands_in_its_chart(self):
        seen = 0
        for path in glob.glob(os.path.join(KEPT, "*.json")):
            with open(path) as source:
                rows = json.load(source).get("rows", [])
            if not rows:
                continue
            groups = row_groups(path[:-len("json")] + "svg")
            for row in rows:
                titles = [title for title in groups if title.startswith(row["label"] + ": kiln ")]
                self.assertEqual(len(titles), 1, f"{path}: {row['label']}")
                for key, name in PEERS.items():
                    told = re.search(rf", {re.escape(name)} \d", titles[0]) is not None
                    self.assertEqual(told, key in row, titles[0])
                bars = [rect.get("class") for rect in groups[titles[0]].iter(SVG + "rect")]
                peers = [key for key in PEERS if key in row]
                compared = row.get("limit") or peers
                self.assertEqual(bars, ["kiln"] + peers if compared else [])
                seen += 1
        self.assertGreater(seen, 150)

    def test_report__no_line_crosses_a_figure(self):
        # Digits of 10.5 and 12 pixels are at least 5 and 6 pixels wide.
        seen = 0
        for path in glob.glob(os.path.join(KEPT, "*.svg")):
            root = ElementTree.parse(path).getroot()
            lines = [{k: float(line.get(k)) for k in ("x1", "y1", "y2")}
                     for line in root.iter(SVG + "line") if line.get("class") in ("limit", "target")]
            for text in root.iter(SVG + "text"):
                style = (text.get("class") or "").split(" ")
                if "value" not in style:
                    continue
                x, y = float(text.get("x")), float(text.get("y"))
                end = x + len(text.text) * (6 if "strong" in style else 5)
                for line in lines:
                    beside = line["y2"] < y - 5 or line["y1"] > y
                    self.assertTrue(beside or not x < line["x1"] < end,
                                    f"{path}: {text.text} at {x}, {y}")
                seen += 1
        self.assertGreater(seen, 400)


class MadeUp(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "scan.json")
        with open(self.path, "w") as out:
            json.dump(MADE_UP, out)
        self.table = report("--charts", self.path)
        self.chart = self.path[:-len("json")] + "svg"

    def test_report__a_bar_is_as_long_as_its_share(self):
        # A section's bars share a scale: in the first the longest is 0.75 of the line at 1, which
        # is at the axis's end, 534 from its beginning.
        bars = {title.split(":")[0]: [float(rect.get("width")) for rect in group.iter(SVG + "rect")]
                for title, group in row_groups(self.chart).items()}
        self.assertEqual(bars, {"x < y & z": [400.5, 133.5], "a call": [267.0],
                                "beside | a peer": [133.5, 534.0], "alone": []})

    def test_report__the_footer_tells_device_driver_date_and_commit(self):
        text = "".join(ElementTree.parse(self.chart).getroot().itertext())
        self.assertIn("D, driver V, C, 2026-01-02, kiln 9.9 at abc", text)
        self.assertIn("limit 400 GB/s, target 0.90: missed", text)

    def test_report__tables_hold_the_figures_and_what_was_missed(self):
        self.assertIn("| x < y & z | GB/s | 300 | 400 | 0.750 (≥ 0.9) **missed** | 100 |  |",
                      self.table)
        self.assertIn("| a call | us | 8 | 4 | +4.00 (≤ +1) **missed** |  |  |", self.table)
        self.assertIn("| beside \\| a peer | GB/s | 50 |  |  |  | 200 |", self.table)


if __name__ == "__main__":
    unittest.main()
