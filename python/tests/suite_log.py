"""A plugin of pytest's: a line for each test as soon as it has run, in the file $KILN_SUITE_LOG, so that
a run that is broken off can be counted. `python3 suite_log.py FILE...` counts. With KILN_SUITE_SHARD=2/8
only every eighth test runs, from the third on, so that eight processes may share the tests."""
import collections
import os
import sys

_ORDER = {"passed": 0, "skipped": 1, "failed": 2}


def pytest_collection_modifyitems(items):
    shard, count = map(int, os.environ.get("KILN_SUITE_SHARD", "0/1").split("/"))
    items[:] = items[shard::count]


def pytest_runtest_logreport(report):
    if os.environ.get("PYTEST_XDIST_WORKER") or (report.when != "call" and report.passed):
        return
    why = ""
    if report.failed:
        lines = str(report.longrepr).splitlines()
        why = " ".join([line[1:].strip() for line in lines if line.startswith("E ")][-6:])
    elif report.skipped:
        why = str(report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr)
    with open(os.environ["KILN_SUITE_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{report.outcome}\t{report.nodeid}\t{' '.join(why.split())[:500]}\n")


def count(*paths):
    files = collections.defaultdict(collections.Counter)
    worst = {}
    for path in paths:
        with open(path, encoding="utf-8") as log:
            for line in filter(lambda text: text.count("\t") > 1, log):
                outcome, test, _ = line.split("\t", 2)
                worst[test] = max(worst.get(test, "passed"), outcome, key=_ORDER.get)
    for test, outcome in worst.items():
        files[test.partition("::")[0].rpartition("/")[2]][outcome] += 1
    total = sum(files.values(), collections.Counter())
    for name, counts in sorted(files.items()) + [("all", total)]:
        print(name, *(f"{counts[o]} {o}" for o in _ORDER), sep="  ")


if __name__ == "__main__":
    count(*sys.argv[1:])
