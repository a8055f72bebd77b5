"""Turn result files into Markdown tables and SVG bar charts.

    python3 report.py RESULTS/elementwise.json [RESULTS/cpu.json ...]    prints tables
    python3 report.py --charts RESULTS/elementwise.json [...]            and writes RESULTS/*.svg
    python3 report.py --kept bench/results [OUT]                         makes what the folder keeps

--kept reads every .json of the folder and writes (to OUT when given) h200.md from those whose name
ends in -h200, cpu.md from the others, and a chart beside each file that has rows. Run it when a
result file changes: test_report compares.
"""
import copy
import glob
import os
import sys

from chart import chart, overview
from result import KINDS, Result, number


def judged(row):
    """What the target says and whether it was met."""
    if row.rule == "at least":
        text = f"{row.kiln / row.limit:.3f} (≥ {row.target:.3g})"
    elif row.rule == "over by":
        text = f"{row.kiln - row.limit:+.2f} (≤ +{row.target:g})"
    elif row.rule == "at most":
        text = f"(≤ {row.target:g})"
    elif row.limit and row.is_rate:
        text = f"{row.kiln / row.limit:.3f}"
    else:
        return ""
    return text if row.met else text + " **missed**"


def line(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def rows_table(result):
    limit = any(row.limit for row in result.rows)
    head = ["case", "unit", "kiln"] + (["limit", "of the limit"] if limit else [])
    lines = [line(head + [peer.name for peer in result.peers]),
             "|---|---|" + "---:|" * (len(head) - 2 + len(result.peers))]
    for row in result.rows:
        figures = {peer.key: value for peer, value in row.peers}
        cells = [row.label, row.unit, number(row.kiln)]
        cells += [number(row.limit), judged(row)] if limit else []
        lines.append(line(cells + [number(figures.get(peer.key)) for peer in result.peers]))
    return lines


def flattened(figures, before=""):
    """("a b", value) of nested objects, in their order."""
    for key, value in figures.items():
        name = f"{before} {key}".strip()
        if isinstance(value, dict):
            yield from flattened(value, name)
        else:
            yield name, ", ".join(value) if isinstance(value, list) else str(value)


def figures_table(result):
    fields = result.fields
    skipped = ("date", "commit", "machine", "figures", "targets")
    targets = fields.get("targets", {})
    lines = ["| figure | measured | target |", "|---|---:|---:|"]
    for name, value in flattened(fields["figures"]):
        target = targets.get(name) or targets.get(name.removesuffix(" median"), "")
        lines.append(line([name, value, str(target)]))
    for name, value in flattened({k: v for k, v in fields.items() if k not in skipped}):
        lines.append(line([name.replace("_", " "), value, ""]))
    return lines


def table(result):
    versions = [f"{peer.name} {result.version(peer)}" for peer in result.peers
                if result.version(peer)]
    about = ", ".join([result.made()] + versions)
    lines = rows_table(result) if result.rows else figures_table(result)
    return "\n".join([f"## {result.title}: {result.device()}", "", about + "."] +
                     ([f"The limit is {result.limit}."] if result.limit else []) + [""] + lines)


def page(results, title):
    parts = [f"# {title}", "Made by `bench/report.py --kept bench/results`. GB/s count the bytes "
             "that must be read and written once; a time is a median."]
    for result in results:
        link = f"[{result.name}.json]({result.name}.json)"
        if result.rows:
            link += f", [as a chart]({result.name}.svg)"
        parts += [table(result), link]
    return "\n\n".join(parts) + "\n"


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
        out.write(text)


# What README shows: rows of two files, and what they are called there.
OVERVIEW = (("elementwise-h200", "x*y+1 float32", "x*y+1, float32"),
            ("elementwise-h200", "x*y+1 float16", "x*y+1, float16"),
            ("elementwise-h200", "x.T 16384^2 float32", "one operand transposed, float32"),
            ("graph-h200", "sqrt(x*x+y*y)*exp(-x)+tanh(y)/(1+x*x)", None),
            ("graph-h200", "sum(sqrt(x*x+y*y)*exp(-x), axis=1)", None),
            ("graph-h200", "softmax, rows of 16384", None),
            ("graph-h200", "layer norm, rows of 1000", None),
            ("graph-h200", "Adam step", None),
            ("graph-h200", "5-point stencil of slices", None))


def overview_of(results):
    by_name = {result.name: result for result in results}
    rows = []
    for name, label, shown in OVERVIEW:
        row = next(copy.copy(row) for row in by_name[name].rows if row.label == label)
        row.label = shown or label
        rows.append(row)
    names = sorted({name for name, _, _ in OVERVIEW})
    sources = [f"bench/results/{name}.json" for name in names]
    return overview(by_name[names[-1]], rows, sources)


def keep(folder, out):
    order = [kind[0] for kind in KINDS]
    results = [Result(path) for path in glob.glob(os.path.join(folder, "*.json"))]

    def place(result):
        begins = [k for k, begin in enumerate(order) if result.name.startswith(begin)]
        return (begins or [len(order)])[0], result.name

    results.sort(key=place)
    on_gpu = [result for result in results if result.name.endswith("-h200")]
    write(out, "h200.md", page(on_gpu, "One NVIDIA H200"))
    write(out, "cpu.md", page([r for r in results if r not in on_gpu], "Without a GPU"))
    write(out, "overview-h200.svg", overview_of(results))
    for result in results:
        if result.rows:
            write(out, result.name + ".svg", chart(result))


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--kept"] and len(arguments) in (2, 3):
        keep(arguments[1], arguments[-1])
        return
    charts = arguments[:1] == ["--charts"]
    paths = arguments[1:] if charts else arguments
    if not paths or paths[0].startswith("--"):
        sys.exit(__doc__.strip())
    for path in paths:
        result = Result(path)
        print(table(result), end="\n\n")
        if charts and result.rows:
            write(os.path.dirname(path) or ".", result.name + ".svg", chart(result))


if __name__ == "__main__":
    main()
