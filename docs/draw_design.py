#!/usr/bin/env python3
"""Draws docs/design.svg: the layers with what they call, and the data flow of a step.

    docs/draw_design.py           writes docs/design.svg
    docs/draw_design.py --check   fails when docs/design.svg is not what the tree gives

The layers come from tests/layering.cmake, their purpose from the table in docs/design.md, and the arrows between them
from the sources: includes, and calls through the public headers. Only the picture of the step is drawn by hand.
"""
import pathlib
import re
import sys
from html import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/design.svg"
WIDTH, HEIGHT = 1000, 788

STYLE = """
text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 12px; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.name { font-size: 14px; font-weight: 600 }
.stage { font-size: 13px; font-weight: 600 }
.small { font-size: 11px; fill: #59636e }
.code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 10.5px; fill: #59636e }
.page { fill: #ffffff; stroke: #d0d7de }
.box { fill: #f6f8fa; stroke: #8c959f }
.line { fill: none; stroke: #8c959f; stroke-width: 1.3 }
.head { fill: #8c959f }
.rank0 { fill: #ddf4ff; stroke: #0969da; stroke-width: 1.3 }
.rank1 { fill: #fff1e5; stroke: #bc4c00; stroke-width: 1.3 }
.line0 { fill: none; stroke: #0969da; stroke-width: 1.3 }
.line1 { fill: none; stroke: #bc4c00; stroke-width: 1.3 }
.head0, .text0 { fill: #0969da }
.head1, .text1 { fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.small, .code { fill: #a5adb6 }
.page { fill: #0d1117; stroke: #3d444d }
.box { fill: #1a212b; stroke: #768390 }
.line { stroke: #768390 }
.head { fill: #768390 }
.rank0 { fill: #10243e; stroke: #4493f8 }
.rank1 { fill: #33200f; stroke: #e0823d }
.line0 { stroke: #4493f8 }
.line1 { stroke: #e0823d }
.head0, .text0 { fill: #4493f8 }
.head1, .text1 { fill: #e0823d }
}
"""


# What the tree says.


def levels():
    """Layers of tests/layering.cmake, lowest level first."""
    text = (ROOT / "tests/layering.cmake").read_text()
    rows = re.search(r"set\(levels\n(.*?)\)", text, re.S)[1].splitlines()
    return [row.strip().strip('"').split() for row in rows if row.strip()]


def purposes():
    """By layer: the second column of the table in docs/design.md."""
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", (ROOT / "docs/design.md").read_text(), re.M)
    return {layer: purpose.strip() for layer, purpose in rows}


def sources(layer):
    return sorted(f for f in (ROOT / "src" / layer).rglob("*") if f.suffix in (".h", ".cpp", ".cu", ".cuh"))


def includes(text):
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M)


def implementers(texts):
    """By public header: the layer that defines most of what it declares outside of classes and as methods."""
    result = {}
    for header in sorted((ROOT / "include/lockstep").glob("*.h")):
        text = header.read_text()
        names = re.findall(r"^(?:class|struct) (\w+)[^;]*$", text, re.M)
        names += re.findall(r"^(?!inline|template|constexpr|using|struct|class|enum|[/#} ])[^=\n]*?\b(\w+)\(", text, re.M)
        if not names:
            continue
        defined = re.compile(rf"^[^\s/#}}].*?\b(?:(?:{'|'.join(names)})::~?\w+|(?:{'|'.join(names)}))\([^;]*$", re.M)
        counts = {layer: sum(len(defined.findall(t)) for t in own if f'"lockstep/{header.name}"' in t)
                  for layer, own in texts.items()}
        best = max(counts, key=counts.get)
        if counts[best] > 0:
            result[f"lockstep/{header.name}"] = best
    return result


def calls(layers):
    """Pairs of layers of which the first calls the second, without those that follow from others."""
    texts = {layer: [f.read_text() for f in sources(layer)] for layer in layers}
    library = layers[:-1]  # the command line implements no public header
    public = implementers({layer: [f.read_text() for f in sources(layer) if f.suffix == ".cpp"] for layer in library})
    below = {layer: set() for layer in layers}
    for layer in layers:
        for path in (path for text in texts[layer] for path in includes(text)):
            target = public.get(path) if path.startswith("lockstep/") else path.split("/")[0]
            if target in layers and layers.index(target) < layers.index(layer):
                below[layer].add(target)
    reach = {}
    for layer in layers:  # lowest first
        reach[layer] = below[layer].union(*(reach[b] for b in below[layer]))
    return [(a, b) for a in layers for b in sorted(below[a]) if not any(b in reach[c] for c in below[a])]


def rows(layers, pairs):
    """By layer: its row from the top, right below the lowest layer that calls it."""
    row = {}
    for layer in reversed(layers):
        row[layer] = 1 + max((row[a] for a, b in pairs if b == layer), default=-1)
    last = max(row.values())
    return {layer: last if layer == layers[0] else row[layer] for layer in layers}


# Shapes.


def text(x, y, words, kind="", anchor="start"):
    kind = f' class="{kind}"' if kind else ""
    anchor = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:g}" y="{y:g}"{kind}{anchor}>{escape(words)}</text>'


def box(x, y, width, height, kind="box", radius=6):
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}"/>'


def line(path, kind=""):
    """A path without an arrow's head."""
    return f'<path class="line{kind}" d="{path}"/>'


def head(x, y, kind=""):
    """An arrow's head that points down at (x, y)."""
    return f'<path class="head{kind}" d="M{x:g} {y:g}l-4 -8h8z"/>'


def curve(x1, y1, x2, y2, kind=""):
    """An arrow that leaves and arrives vertically."""
    bend = (y2 - 8 - y1) / 2
    path = f"M{x1:g} {y1:g}C{x1:g} {y1 + bend:g} {x2:g} {y2 - 8 - bend:g} {x2:g} {y2 - 8:g}"
    return line(path, kind) + head(x2, y2, kind)


def wrap(words, width):
    lines = [""]
    for word in words.split():
        if len(lines[-1]) + len(word) >= width and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


# The layers.

LEFT, TOP, COLUMN, GAP, BOX, ROW = 20, 64, 112, 13, 60, 107
# First and last column of each layer.
PLACES = {"cli": (0, 3), "train": (0, 1), "onnx": (2, 2), "models": (2, 2), "optim": (0, 0), "ops": (1, 1),
          "run": (3, 3), "gradient": (0, 0), "data": (1, 1), "graph": (2, 2), "comm": (0, 1), "watch": (0, 1),
          "device": (0, 1), "core": (0, 3)}


class Place:
    def __init__(self, layer, row):
        first, last = PLACES[layer]
        self.left = LEFT + first * (COLUMN + GAP)
        self.right = self.left + COLUMN + (last - first) * (COLUMN + GAP)
        self.top = TOP + row * ROW
        self.middle = (self.left + self.right) / 2
        self.narrow = self.right - self.left <= COLUMN


def ends(a, b, pairs, places):
    """Where the arrow from layer a to layer b leaves and arrives."""
    caller, callee = places[a], places[b]
    left, right = max(caller.left, callee.left), min(caller.right, callee.right)
    between = [p for p in places.values() if caller.top < p.top < callee.top]
    if right - left > GAP and not (caller.narrow and callee.narrow):
        straight = [(left + right) / 2, right - 6, left + 6]
        free = [x for x in straight if not any(p.left < x < p.right for p in between)]
        return (free[0], free[0])

    def port(place, others):
        order = sorted(others, key=lambda other: places[other].middle)
        other = b if place is caller else a
        low, high = (place.left, place.right) if place.narrow else (place.right - 28, place.right)
        return low + (high - low) * (order.index(other) + 1) / (len(order) + 1) if place.narrow else low

    x1 = port(caller, [target for source, target in pairs if source == a])
    x2 = port(callee, [source for source, target in pairs if target == b])
    return (x2, x2) if caller.left == callee.left and len([1 for s, _ in pairs if s == a]) == 1 else (x1, x2)


def draw_layers():
    layers = [layer for level in levels() for layer in level]
    missing = [layer for layer in layers if layer not in PLACES or layer not in purposes()]
    if missing:
        raise SystemExit(f"draw_design.py: {missing[0]} needs a row in docs/design.md and a column in PLACES")
    pairs = calls(layers)
    row = rows(layers, pairs)
    places = {layer: Place(layer, row[layer]) for layer in layers}

    yield text(LEFT, 34, "Layers: the folders of src/", "title")
    yield text(LEFT, 51, "An arrow points from the caller to what it calls.", "small")
    for a, b in pairs:
        x1, x2 = ends(a, b, pairs, places)
        yield curve(x1, places[a].top + BOX, x2, places[b].top)
    for layer in layers:
        place = places[layer]
        lines = wrap(purposes()[layer], (place.right - place.left) / 6.2)
        yield box(place.left, place.top, place.right - place.left, BOX)
        yield text(place.middle, place.top + (22 if len(lines) > 1 else 27), layer, "name", "middle")
        for i, words in enumerate(lines):
            yield text(place.middle, place.top + (37 if len(lines) > 1 else 44) + 14 * i, words, "small", "middle")


# A step.

LABEL, FLOW, LEAF, RANK = 530, 682, 34, 150


def leaf_x(leaf):
    return FLOW + leaf // 4 * RANK + leaf % 4 * LEAF + 2


def label(y, name, words, code):
    yield text(LABEL, y, name, "stage")
    yield text(LABEL, y + 15, words, "small")
    yield text(LABEL, y + 29, code, "code")


def bar(x, y, height, kinds):
    """An arena in two slices."""
    for i, kind in enumerate(kinds):
        yield box(x + i * 65, y, 65, height, kind, 3)


def draw_step():
    yield text(LABEL, 34, "A step on two ranks with two streams each", "title")
    yield text(LABEL, 51, "Another number of ranks changes who computes a leaf, nothing else.", "small")
    for rank in range(2):
        yield text(FLOW + rank * RANK + 67, 84, f"rank {rank}", f"name text{rank}", "middle")

    yield from label(116, "samples", "order of the epoch", "MicroBatchRule")
    for leaf in range(8):
        for i in range(3):
            yield box(leaf_x(leaf) + 10 * i, 112, 8, 8, "box", 1)
        yield curve(leaf_x(leaf) + 14, 124, leaf_x(leaf) + 14, 158, leaf // 4)

    yield from label(172, "micro-batches", "the leaves of the tree", "LeafPass")
    for leaf in range(8):
        yield box(leaf_x(leaf), 160, 28, 28, f"rank{leaf // 4}", 4)
        yield text(leaf_x(leaf) + 14, 179, str(leaf), "", "middle")
        yield curve(leaf_x(leaf) + 14, 188, leaf_x(leaf) + 14, 232, leaf // 4)

    yield from label(244, "forward, backward", "each leaf on one stream", "LeafRunner")
    for leaf in range(0, 8, 2):
        x = leaf_x(leaf)
        yield box(x, 234, 62, 34, f"rank{leaf // 4}", 4)
        yield text(x + 31, 255, f"stream {leaf // 2 % 2}", "small", "middle")
        for each in (leaf, leaf + 1):
            middle = leaf_x(each) + 14
            yield curve(middle, 268, x + 31, 316, leaf // 4)

    yield from label(318, "fold", "add siblings in the tree", "StepGradients")
    for pair in range(4):
        x = leaf_x(2 * pair) + 31
        yield text(x, 331, f"{2 * pair}+{2 * pair + 1}", f"text{pair // 2}", "middle")
        yield curve(x, 337, FLOW + pair // 2 * RANK + 67, 386, pair // 2)

    yield from label(394, "partial sums", "a gradient per subtree", "GradientSums")
    for rank in range(2):
        x = FLOW + rank * RANK + 2
        yield from bar(x, 388, 30, [f"rank{rank}"] * 2)
        for part in range(2):
            yield text(x + 32 + 65 * part, 407, f"slice {part}", "small", "middle")

    yield from label(458, "exchange", "slices go to their owners", "SumExchange")
    for rank in range(2):
        for owner in range(2):
            x1 = FLOW + rank * RANK + 34 + 65 * owner
            x2 = FLOW + owner * RANK + 52 + 30 * rank
            yield curve(x1, 418, x2, 520, rank)

    yield from label(534, "fold, update", "the owner of a slice", "Updater, ArenaUpdate")
    for rank in range(2):
        x = FLOW + rank * RANK + 9
        yield box(x, 522, 116, 44, f"rank{rank}", 4)
        yield text(x + 58, 540, "sum of all leaves", "small", "middle")
        yield text(x + 58, 555, f"rule on slice {rank}", "small", "middle")

    yield from label(604, "gather", "new parameters to all", "Gather")
    for owner in range(2):
        for rank in range(2):
            x1 = FLOW + owner * RANK + 52 + 30 * rank
            x2 = FLOW + rank * RANK + 34 + 65 * owner
            yield curve(x1, 566, x2, 666, owner)

    yield from label(676, "parameters", "equal on all ranks", "TrainingState")
    for rank in range(2):
        x = FLOW + rank * RANK + 2
        yield from bar(x, 668, 30, ["rank0", "rank1"])
        for part in range(2):
            yield text(x + 32 + 65 * part, 687, f"slice {part}", "small", "middle")

    # The next step reads the new parameters.
    x = FLOW + RANK + 134 + 12
    yield line(f"M{FLOW + RANK + 132:g} 683H{x - 6:g}Q{x:g} 683 {x:g} 677V257Q{x:g} 251 {x - 6:g} 251H{x - 10:g}")
    yield f'<path class="head" d="M{x - 15:g} 251l8 -4v8z"/>'
    yield text(LABEL, 734, "A step is one recorded program. Before the update, the loss and the", "small")
    yield text(LABEL, 749, "number of samples of all leaves are gathered. On one host, exchange", "small")
    yield text(LABEL, 764, "and gather read shared memory; nothing is sent.", "small")


def picture():
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">',
        "<title>Layers of lockstep, and the data flow of a training step</title>",
        f"<style>{STYLE}</style>",
        box(0.5, 0.5, WIDTH - 1, HEIGHT - 1, "page", 8),
        *draw_layers(),
        *draw_step(),
        "</svg>",
    ]) + "\n"


def main():
    drawn = picture()
    if sys.argv[1:] == ["--check"]:
        if not PICTURE.exists() or PICTURE.read_text() != drawn:
            raise SystemExit("docs/design.svg is not what the tree gives: run docs/draw_design.py")
    elif sys.argv[1:]:
        raise SystemExit(__doc__)
    else:
        PICTURE.write_text(drawn)


if __name__ == "__main__":
    main()
