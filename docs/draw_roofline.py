#!/usr/bin/env python3
"""Draws docs/roofline.svg: how far the operations of a network are from the limits of a thread.

    lockstep bench ops --model resnet50 ... --json >bench/results/roofline/resnet50.json
    docs/draw_roofline.py           writes docs/roofline.svg from bench/results/roofline/*.json
    docs/draw_roofline.py --check   fails when docs/roofline.svg is not what this program draws
"""
import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results/roofline"
PICTURE = ROOT / "docs/roofline.svg"
PANEL, HEIGHT, LEFT, TOP, BOTTOM = 440, 360, 60, 60, 50
INTENSITIES = (0.1, 1000.0)  # flop per byte
SPEEDS = (1.0, 1000.0)  # GFLOP/s

STYLE = """
text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 11px; fill: #59636e }
.title { font-size: 15px; font-weight: 600; fill: #1f2328 }
.page { fill: #ffffff; stroke: #d0d7de }
.grid { stroke: #d0d7de; stroke-width: 0.6 }
.roof { stroke: #8c959f; stroke-width: 1.4; fill: none }
.one { fill: #0969da } .wide { fill: #cf222e } .depthwise { fill: #8250df } .linear { fill: #1a7f37 }
circle { fill-opacity: 0.55 }
@media (prefers-color-scheme: dark) {
text { fill: #a5adb6 }
.title { fill: #f0f6fc }
.page { fill: #0d1117; stroke: #3d444d }
.grid { stroke: #3d444d }
}
"""

KINDS = {"one": "1x1", "wide": "3x3 and larger", "depthwise": "in groups", "linear": "linear"}


def kind(operation):
    if operation.startswith("linear"):
        return "linear"
    if "groups" in operation:
        return "depthwise"
    return "one" if "conv2d 1x1" in operation else "wide"


class Panel:
    def __init__(self, left, name, results):
        self.left, self.name, self.results = left, name, results

    def x(self, intensity):
        low, high = map(math.log10, INTENSITIES)
        return self.left + LEFT + (math.log10(intensity) - low) / (high - low) * (PANEL - LEFT - 20)

    def y(self, speed):
        low, high = map(math.log10, SPEEDS)
        place = (math.log10(max(speed, SPEEDS[0])) - low) / (high - low)
        return HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM)

    def axes(self):
        right, bottom = self.left + PANEL - 20, HEIGHT - BOTTOM
        yield f'<text class="title" x="{self.left + LEFT}" y="30">{self.name}</text>'
        yield (f'<text x="{self.left + LEFT}" y="47">{self.results["processor"]}, {self.results["samples"]} images, '
               'one thread; area: time</text>')
        for power in range(-1, 4):
            x = self.x(10.0 ** power)
            yield f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}"/>'
            yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{10.0 ** power:g}</text>'
        for power in range(0, 4):
            y = self.y(10.0 ** power)
            yield f'<line class="grid" x1="{self.left + LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
            yield f'<text x="{self.left + LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10 ** power}</text>'
        yield (f'<text x="{(self.left + LEFT + right) / 2}" y="{bottom + 36}" text-anchor="middle">'
               'operations for each byte that must be moved</text>')
        yield (f'<text transform="translate({self.left + 18} {(TOP + bottom) / 2}) rotate(-90)" '
               'text-anchor="middle">GFLOP/s</text>')

    def roofs(self):
        peak = self.results["limits"]["flop_per_s"]
        for memory in self.results["limits"]["memory"]:
            rate = memory["bytes_per_s"]
            ridge = peak / rate
            start = max(INTENSITIES[0], SPEEDS[0] * 1e9 / rate)
            points = [(start, start * rate), (ridge, peak), (INTENSITIES[1], peak)]
            path = " ".join(f"{self.x(i):.1f},{self.y(s / 1e9):.1f}" for i, s in points)
            yield f'<polyline class="roof" points="{path}"/>'
            middle = math.sqrt(start * ridge)  # the name is at the middle of the slope, below it
            x, y = self.x(middle) + 6, self.y(middle * rate / 1e9) + 12
            yield f'<text x="{x:.1f}" y="{y:.1f}">{memory["name"]}</text>'
        yield f'<text x="{self.x(INTENSITIES[1]) - 4:.1f}" y="{self.y(peak / 1e9) - 6:.1f}" text-anchor="end">fma</text>'

    def operations(self):
        total = self.results["sum_seconds"]
        for operation in self.results["operations"]:
            for direction in ("forward", "backward"):
                part = operation[direction]
                if not part or not part["flop"]:
                    continue
                radius = max(1.5, 60 * math.sqrt(part["seconds"] / total / math.pi))
                speed, name = part["flop"] / part["seconds"] / 1e9, operation["name"]
                yield (f'<circle class="{kind(operation["operation"])}" '
                       f'cx="{self.x(part["flop"] / part["bytes"]):.1f}" cy="{self.y(speed):.1f}" r="{radius:.1f}">'
                       f'<title>{name} {direction}: {speed:.0f} GFLOP/s</title></circle>')

    def draw(self):
        return [*self.axes(), *self.roofs(), *self.operations()]


def legend(width):
    x, parts = LEFT, []
    for name, text in KINDS.items():
        parts.append(f'<circle class="{name}" cx="{x}" cy="{HEIGHT + 8}" r="5"/>'
                     f'<text x="{x + 10}" y="{HEIGHT + 12}">{text}</text>')
        x += 30 + 7 * len(text)
    return parts


def picture():
    files = sorted(RESULTS.glob("*.json"))
    panels = [Panel(i * PANEL, file.stem, json.loads(file.read_text())) for i, file in enumerate(files)]
    width, height = len(panels) * PANEL + 10, HEIGHT + 28
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
             f"<style>{STYLE}</style>",
             f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="6"/>']
    for panel in panels:
        parts += panel.draw()
    return "\n".join([*parts, *legend(width), "</svg>", ""])


def main():
    drawn = picture()
    if sys.argv[1:] == ["--check"]:
        if PICTURE.read_text() != drawn:
            sys.exit("docs/roofline.svg is not what docs/draw_roofline.py draws: run it")
    else:
        PICTURE.write_text(drawn)


if __name__ == "__main__":
    main()
