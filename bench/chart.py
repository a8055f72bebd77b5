"""A result file as a picture: plain SVG with bars, one group a row.

The bars are shares, so that rows of any unit stand on one axis: kiln's speed, and every peer's,
over the limit's, which is the line at 1. Rows without a limit are drawn against the fastest of the
row. The figure itself, in the row's unit, stands at the end of its bar. Rows that can be compared
with nothing are written out below.

Every row is a group with a <title>: what a browser shows under the pointer, and what the test
reads. The picture has its own background, dark where the reader's system asks for that.
"""
from xml.sax.saxutils import escape

from result import PEERS, number

WIDTH, LEFT, RIGHT, MARGIN = 960, 316, 850, 20
KILN_BAR, PEER_BAR, ROW_GAP, LINE = 13, 11, 12, 15
LABEL_COLUMNS = 42

STYLE = """
text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #24292f }
.page { fill: #ffffff } .title { font-size: 19px; font-weight: 600 }
.head { font-size: 14px; font-weight: 600 } .small { font-size: 10.5px; fill: #57606a }
.strong { font-weight: 600 } .missed { fill: #c4320a; font-weight: 600 }
.grid { stroke: #d8dee4; stroke-width: 1 } .limit { stroke: #24292f; stroke-width: 1.5 }
.target { stroke: #24292f; stroke-width: 2 }
.value { paint-order: stroke; stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round }
.kiln { fill: #e8590c }%s
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .page { fill: #0d1117 } .small { fill: #9aa4af } .missed { fill: #ff8f6b }
.grid { stroke: #2d333b } .limit, .target { stroke: #e6edf3 } .kiln { fill: #ff7a33 }
.value { stroke: #0d1117 }%s
}
""" % ("".join(f" .{peer.key} {{ fill: {peer.light} }}" for peer in PEERS),
       "".join(f" .{peer.key} {{ fill: {peer.dark} }}" for peer in PEERS))


def wrapped(text, columns):
    """Break at spaces, so that no line is longer than `columns` unless one word is."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > columns:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def steps(most):
    """Where the axis is marked: at most seven round numbers from 0 to `most`."""
    step = next(step for step in (0.25, 0.5, 1, 2, 5, 10, 50, 1e9) if most / step < 7)
    return [k * step for k in range(int(most / step) + 1)]


class Page:
    """Elements from top to bottom; `y` is where the next one goes."""

    def __init__(self):
        self.parts, self.y = [], MARGIN

    def add(self, element):
        self.parts.append(element)

    def text(self, x, y, text, style="", anchor="start"):
        style = f' class="{style}"' if style else ""
        anchor = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.add(f'<text x="{x:g}" y="{y:g}"{style}{anchor}>{escape(text)}</text>')

    def line(self, x, y0, y1, style):
        self.add(f'<line class="{style}" x1="{x:.1f}" y1="{y0:g}" x2="{x:.1f}" y2="{y1:g}"/>')

    def paragraph(self, text, style):
        for line in wrapped(text, 140):
            self.text(MARGIN, self.y + LINE - 4, line, style)
            self.y += LINE

    def svg(self, title, description):
        height = self.y + MARGIN
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
                f'width="{WIDTH}" height="{height}" role="img">\n'
                f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>\n"
                f"<style>{STYLE}</style>\n"
                f'<rect class="page" width="{WIDTH}" height="{height}"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


def judged(row):
    """(what the row is measured against, was its target missed?)."""
    parts = [f"limit {number(row.limit)} {row.unit}"] if row.limit else []
    share = row.target_share()
    if share is not None:
        parts.append(f"target {share:.2f}")
    elif row.target is not None:
        parts.append(f"target at most {row.target:g} {row.unit}")
    return ", ".join(parts) + ("" if row.met else ": missed"), not row.met


def told(row):
    """The whole row in words."""
    values = [f"kiln {number(row.kiln)}"] + [f"{peer.name} {number(v)}" for peer, v in row.peers]
    against = judged(row)[0]
    return f"{row.label}: {', '.join(values)} {row.unit}" + (f" ({against})" if against else "")


def begin_row(page, row):
    """The group, its words, and the label; returns the label's height."""
    page.add(f"<g><title>{escape(told(row))}</title>")
    y = page.y + 11
    for line in wrapped(row.label, LABEL_COLUMNS):
        page.text(LEFT - 12, y, line, "", "end")
        y += LINE
    against, missed = judged(row)
    if against:
        page.text(LEFT - 12, y - 1, against, "small missed" if missed else "small", "end")
        y += LINE
    return y - 11 - page.y


def free_of(marks, end, width):
    """Where `width` of words may stand behind a bar's end, so that no mark crosses them."""
    for mark in sorted(marks):
        if end < mark < end + 5 + width:
            end = mark
    return end


def draw_row(page, row, of, scale):
    label_height = begin_row(page, row)
    bars = [("kiln", row.kiln, KILN_BAR)]
    bars += [(peer.key, value, PEER_BAR) for peer, value in row.peers]
    target = row.target_share()
    target = None if target is None else target * scale
    y = page.y
    for style, value, height in bars:
        width = max(row.share(value, of) * scale, 1)
        page.add(f'<rect class="{style}" x="{LEFT}" y="{y}" width="{width:.1f}" '
                 f'height="{height - 1}"/>')
        own = style == "kiln"
        words = f"{number(value)} {row.unit}" if own else number(value)
        marks = [target, scale] if own and target is not None else [scale]
        end = free_of(marks, width, (7.5 if own else 6.5) * len(words))
        page.text(LEFT + end + 5, y + height - 2, words, "strong value" if own else "small value")
        y += height
    if target is not None:
        page.line(LEFT + target, page.y - 3, page.y + KILN_BAR + 2, "target")
    page.add("</g>")
    page.y = max(y, page.y + label_height) + ROW_GAP


def draw_section(page, head, mark, pairs):
    """`pairs` are rows, each with what its bars are shares of; `mark` names the line at 1."""
    shares = [row.share(value, of) for row, of in pairs
              for value in [row.kiln] + [value for _, value in row.peers]]
    most = max(shares + [1])
    scale = (RIGHT - LEFT) / most
    page.y += 14
    page.text(MARGIN, page.y + 12, head, "head")
    page.y += 44
    top, hole = page.y - 8, len(page.parts)
    for row, of in pairs:
        draw_row(page, row, of, scale)
    bottom, rows = page.y - ROW_GAP + 4, page.parts[hole:]
    del page.parts[hole:]
    for value in steps(most):  # below the bars, so that they hide it
        page.line(LEFT + value * scale, top, bottom, "limit" if value == 1 else "grid")
        name, style = (f"1 = {mark}", "small strong") if value == 1 else (f"{value:g}", "small")
        page.text(LEFT + value * scale, top - 5, name, style, "middle")
    page.parts += rows


def draw_legend(page, result, rows):
    x = MARGIN
    names = [("kiln", "kiln " + result.fields.get("kiln", ""))]
    names += [(peer.key, f"{peer.name} {result.version(peer)}".strip()) for peer in result.peers]
    page.y += 6
    for style, name in names:
        page.add(f'<rect class="{style}" x="{x}" y="{page.y}" width="12" height="12"/>')
        page.text(x + 18, page.y + 10, name, "strong" if style == "kiln" else "")
        x += 18 + 7 * len(name) + 26
    if any(row.target_share() is not None for row in rows):
        page.line(x + 3, page.y - 1, page.y + 13, "target")
        page.text(x + 12, page.y + 10, "the target set for kiln")
    page.y += 20


def chart(result):
    """The picture of a result with rows, as text."""
    page = Page()
    title = f"{result.title}: {result.device()}"
    page.text(MARGIN, page.y + 14, title, "title")
    page.y += 26
    limit = f" The limit is {result.limit}." if result.limit else ""
    page.paragraph("Speed as a share of the line at 1: longer bars are faster. The figures are "
                   "measured medians." + limit, "small")
    draw_legend(page, result, result.rows)

    alone = [row for row in result.rows if not row.limit and not row.peers]
    for rate, head in ((True, "Bandwidth against the {}"),
                       (False, "Times against the {} (a longer bar is a shorter time)")):
        for limited, mark in ((True, "limit"), (False, "fastest")):
            pairs = [(row, row.limit or row.best()) for row in result.rows if row not in alone
                     and row.is_rate == rate and bool(row.limit) == limited]
            if pairs:
                draw_section(page, head.format(mark), f"the {mark}", pairs)
    if alone:
        page.y += 14
        page.text(MARGIN, page.y + 12, "Measured without a limit or a peer", "head")
        page.y += 30
    for row in alone:
        height = begin_row(page, row)
        page.text(LEFT, page.y + 11, f"{number(row.kiln)} {row.unit}", "strong")
        page.add("</g>")
        page.y += height + 4
    page.y += 10
    page.paragraph(f"{result.made()}. Source: bench/results/{result.name}.json", "small")
    return page.svg(title, f"Bars of {len(result.rows)} rows. {result.made()}.")


def overview(result, rows, sources):
    """A few rows of several results on one device as one small picture."""
    page = Page()
    title = f"Bandwidth on one {result.device()}"
    for row in rows:
        row.target = None  # the sources' charts show what was aimed at
    page.text(MARGIN, page.y + 14, title, "title")
    page.y += 26
    page.paragraph("Speed as a share of the best hand-written CUDA kernel that moves the same "
                   "bytes: longer bars are faster.", "small")
    draw_legend(page, result, rows)
    page.y -= 30  # there is one section, and it needs no heading
    draw_section(page, "", "hand-written", [(row, row.limit) for row in rows])
    page.y += 10
    page.paragraph(f"{result.made()}. Sources: {', '.join(sources)}", "small")
    return page.svg(title, f"Bars of {len(rows)} rows. {result.made()}.")
