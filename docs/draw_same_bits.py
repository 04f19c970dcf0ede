#!/usr/bin/env python3
"""Draws docs/same-bits.svg: the gradients of one batch, added by 1, 2 and 8 ranks in the order of the same tree.

    docs/draw_same_bits.py           writes docs/same-bits.svg
    docs/draw_same_bits.py --check   fails when docs/same-bits.svg is not what this program draws

The digest is the one that README.md shows.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/same-bits.svg"
LEAVES = 8
PANELS = (1, 2, 8)
PANEL, MARGIN, BOX = 300, 20, 28
WIDTH, HEIGHT = len(PANELS) * PANEL + 2 * MARGIN, 300
LEAF_Y, LEVEL = 205, 38
HUES = (210, 25, 140, 280, 50, 330, 180, 90)

STYLE = """
text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 12px; fill: #1f2328;
  text-anchor: middle }
.title { font-size: 15px; font-weight: 600 }
.small { font-size: 11px; fill: #59636e }
.code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 12px }
.page { fill: #ffffff; stroke: #d0d7de }
.line { stroke: #8c959f; stroke-width: 1.3 }
.sum { fill: #f6f8fa; stroke: #8c959f }
.leaf { fill-opacity: 0.25 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.small { fill: #a5adb6 }
.page { fill: #0d1117; stroke: #3d444d }
.line, .sum { stroke: #768390 }
.sum { fill: #1a212b }
}
"""


def digest():
    return re.search(r"digest (xxh3:[0-9a-f]{32})", (ROOT / "README.md").read_text())[1]


def panel(left, ranks):
    """The leaves, coloured by the rank that computes them, and the tree of their sums."""
    step = (PANEL - 20) / LEAVES
    xs = [left + 10 + step * (i + 0.5) for i in range(LEAVES)]
    parts = [f'<text class="title" x="{left + PANEL / 2:g}" y="72">{ranks} rank{"s" if ranks > 1 else ""}</text>']
    lines, sums = [], []
    below, y = xs, LEAF_Y
    while len(below) > 1:
        above, up = [(a + b) / 2 for a, b in zip(below[::2], below[1::2])], y - LEVEL
        for i, x in enumerate(below):
            lines.append(f'<line class="line" x1="{x:g}" y1="{y:g}" x2="{above[i // 2]:g}" y2="{up:g}"/>')
        sums += [f'<circle class="sum" cx="{x:g}" cy="{up:g}" r="9"/><text x="{x:g}" y="{up + 4:g}">+</text>'
                 for x in above]
        below, y = above, up
    parts += lines + sums
    for i, x in enumerate(xs):
        hue = HUES[i * ranks // LEAVES]
        parts.append(f'<rect class="leaf" x="{x - BOX / 2:g}" y="{LEAF_Y - BOX / 2:g}" width="{BOX}" height="{BOX}" '
                     f'rx="4" fill="hsl({hue}, 80%, 45%)" stroke="hsl({hue}, 70%, 45%)"/>'
                     f'<text x="{x:g}" y="{LEAF_Y + 4:g}">{i}</text>')
    shares = LEAVES // ranks
    for rank in range(ranks):
        middle = (xs[rank * shares] + xs[(rank + 1) * shares - 1]) / 2
        name = f"rank {rank}" if ranks <= 2 else f"r{rank}"
        parts.append(f'<text class="small" x="{middle:g}" y="{LEAF_Y + 32}">{name}</text>')
    parts.append(f'<text class="code" x="{left + PANEL / 2:g}" y="{HEIGHT - 38}">{digest()[:18]}…</text>')
    return parts


def picture():
    parts = [f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>',
             f'<text class="title" x="{WIDTH / 2:g}" y="30">A batch is always cut into the same micro-batches, and '
             'their gradients are added in the order of one tree.</text>']
    for i, ranks in enumerate(PANELS):
        parts += panel(MARGIN + i * PANEL, ranks)
    parts.append(f'<text class="small" x="{WIDTH / 2:g}" y="{HEIGHT - 14}">The number of ranks changes who computes a '
                 'micro-batch, not what is added to what: the trained parameters have one digest.</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="The same '
            f'sums on 1, 2 and 8 ranks">\n<style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n")


if sys.argv[1:] == ["--check"]:
    if PICTURE.read_text() != picture():
        sys.exit("docs/same-bits.svg differs; docs/draw_same_bits.py draws it again")
else:
    PICTURE.write_text(picture())
