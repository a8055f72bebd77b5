"""Turn result files into Markdown tables for the README.

    python3 report.py RESULTS/elementwise.json [RESULTS/cpu.json ...]
"""
import json
import sys

PEERS = (("cupy", "CuPy"), ("cupy_cub", "CuPy+CUB"), ("torch", "PyTorch"), ("jax", "JAX"),
         ("numexpr", "numexpr"), ("numpy", "NumPy"))


def number(value):
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 1 else f"{value:.2f}"


def judged(row):
    """What the target says and whether it was met."""
    rule, target = row.get("rule"), row.get("target")
    if rule == "at least":
        text = f"{row['kiln'] / row['limit']:.3f} (≥ {target:g})"
    elif rule == "over by":
        text = f"{row['kiln'] - row['limit']:+.2f} (≤ +{target:g})"
    elif rule == "at most":
        text = f"(≤ {target:g})"
    else:
        return ""
    return text if row["met"] else text + " **missed**"


def table(result):
    peers = [(key, name) for key, name in PEERS if any(key in row for row in result["rows"])]
    lines = [f"{result['device']}, {result.get('driver') or result['compiler']}, {result['date']}, "
             f"kiln {result['kiln']} at `{result.get('commit') or 'unknown'}`", ""]
    head = ["case", "unit", "kiln", "limit", "of the limit"] + [name for _, name in peers]
    lines.append("| " + " | ".join(head) + " |")
    lines.append("|---|---|" + "---:|" * (len(head) - 2))
    for row in result["rows"]:
        cells = [row["label"].replace("|", "\\|"), row["unit"], number(row["kiln"]),
                 number(row.get("limit")), judged(row)]
        cells += [number(row.get(key)) for key, _ in peers]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    for path in sys.argv[1:]:
        with open(path) as source:
            print(table(json.load(source)), end="\n\n")


if __name__ == "__main__":
    main()
