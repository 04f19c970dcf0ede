"""Record, pictures and tables of a study. run.sh calls it:

  summary.py --collect RUNS STUDY   writes STUDY.tsv from the run directories in RUNS
  summary.py STUDY                  writes STUDY*.svg and the tables in STUDY.md from STUDY.tsv

A run directory is called SERIES-X-seedN: a line of the picture, a position on it, and a seed.
Needs Python 3.9 without packages.
"""

import argparse
import csv
import json
import math
import pathlib
import re
import statistics
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

HERE = pathlib.Path(__file__).parent
MEASURED = ("train_loss", "train_accuracy", "test_loss", "test_accuracy")
COLUMNS = ("series", "x", "seed", "batch_size", "micro_batches", "ranks", "lr", "epoch", *MEASURED, "end")


@dataclass
class Run:
    series: str
    x: float
    seed: int
    batch_size: int
    micro_batches: int
    ranks: int
    lr: float  # after scaling
    end: str  # the digest, or "diverged"
    epochs: list = field(default_factory=list)  # dicts of MEASURED

    def last(self, name):
        """Value of the last epoch. For a run that diverged: not a number, and the accuracy of guessing."""
        if self.end == "diverged":
            return 0.1 if name == "test_accuracy" else math.nan
        return self.epochs[-1][name]


# The record.


def options_of(directory):
    lines = (directory / "options.cfg").read_text().splitlines()
    return dict(line.split(" = ", 1) for line in lines if " = " in line)


def scaled_rate(options):
    """What --lr-base-batch-size makes of --lr."""
    base = int(options["lr-base-batch-size"])
    ratio = int(options["batch-size"]) / base if base else 1.0
    return float(options["lr"]) * (math.sqrt(ratio) if options.get("lr-base-scale") == "sqrt" else ratio)


def rows_of(directory):
    if not (directory / "metrics.jsonl").exists():
        return  # failed before it began
    series, x, seed = re.fullmatch(r"(.+)-([^-]+)-seed(\d+)", directory.name).groups()
    options = options_of(directory)
    events = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    diverged = (directory / "diverged").exists()
    ends = [event["digest"] for event in events if event["event"] == "end"]
    if not ends and not diverged:
        return  # interrupted, or in progress
    settings = {
        "series": series,
        "x": x,
        "seed": seed,
        "batch_size": options["batch-size"],
        "micro_batches": options["micro-batches"],
        "ranks": json.loads((directory / "environment.json").read_text())["ranks"],
        "lr": f"{scaled_rate(options):.6g}",
        "end": "diverged" if diverged else ends[0],
    }
    epochs = [event for event in events if event["event"] == "epoch"]
    for event in epochs or [{"epoch": 0, **dict.fromkeys(MEASURED, "nan")}]:
        yield {**settings, "epoch": event["epoch"], **{name: event[name] for name in MEASURED}}


def collect(study, runs):
    rows = [row for directory in runs.iterdir() if directory.is_dir() for row in rows_of(directory)]
    rows.sort(key=lambda row: (row["series"], float(row["x"]), int(row["seed"]), row["epoch"]))
    with open(HERE / f"{study}.tsv", "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(study):
    runs = {}
    with open(HERE / f"{study}.tsv", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            key = (row["series"], float(row["x"]), int(row["seed"]))
            if key not in runs:
                settings = (int(row[name]) for name in ("batch_size", "micro_batches", "ranks"))
                runs[key] = Run(*key, *settings, float(row["lr"]), row["end"])
            runs[key].epochs.append({name: float(row[name]) for name in MEASURED})
    return list(runs.values())


def groups(runs, series):
    """Runs of a series, by x."""
    by_x = {}
    for run in runs:
        if run.series == series:
            by_x.setdefault(run.x, []).append(run)
    return dict(sorted(by_x.items()))


def lasts(runs, name):
    return [run.last(name) for run in runs]


# Tables.


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


SPREAD = ("seeds", "test accuracy", "lowest", "highest")


def spread(runs):
    """Cells of SPREAD: number, mean, minimum and maximum of the seeds."""
    values = lasts(runs, "test_accuracy")
    return [len(runs), *(f"{value:.4f}" for value in (statistics.fmean(values), min(values), max(values)))]


def mean(runs, name):
    values = lasts(runs, name)
    return "diverged" if any(math.isnan(value) for value in values) else f"{statistics.fmean(values):.4f}"


def largest_fall(runs):
    """Largest fall of test accuracy between epochs, from the third on, over all seeds; 0 if it only rose."""
    accuracies = [[epoch["test_accuracy"] for epoch in run.epochs[2:]] for run in runs]
    return f"{max((max(0.0, a - b) for run in accuracies for a, b in zip(run, run[1:])), default=math.nan):.4f}"


def write_tables(study, tables):
    page = HERE / f"{study}.md"
    text = page.read_text()
    for name, rows in tables.items():
        begin, end = f"<!-- table {name}: begin -->", f"<!-- table {name}: end -->"
        if begin not in text or end not in text:
            raise SystemExit(f"{page.name}: no place for the table {name}")
        head, rest = text.split(begin, 1)
        text = f"{head}{begin}\n\n{rows}\n\n{end}{rest.split(end, 1)[1]}"
    page.write_text(text)


# Pictures.

COLOURS = ("#1f5fa8", "#c2501a", "#2c8a3d", "#7b3fa0", "#8a6d1a", "#b0256b", "#444444")
LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT = 60, 40, 440, 260
WIDTH, HEIGHT = 720, 350


@dataclass
class Axis:
    label: str
    ticks: list
    low: float
    high: float
    log: bool = False

    def share(self, value):
        place = math.log if self.log else float
        return (place(value) - place(self.low)) / (place(self.high) - place(self.low))


def x_axis(label, ticks, log):
    """An axis with room outside the first and last tick."""
    if log:
        room = (ticks[-1] / ticks[0]) ** 0.04
        return Axis(label, ticks, ticks[0] / room, ticks[-1] * room, True)
    room = 0.04 * (ticks[-1] - ticks[0])
    return Axis(label, ticks, ticks[0] - room, ticks[-1] + room)


def y_axis(values):
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2) if max(values) - min(values) <= 7 * step)
    low, high = math.floor(min(values) / step), math.ceil(max(values) / step)
    return Axis("", [tick * step for tick in range(low, high + 1)], low * step, high * step)


def axes(x, y):
    right, bottom = LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT
    for tick in y.ticks:
        at = bottom - y.share(tick) * PLOT_HEIGHT
        yield f'<path stroke="#ddd" d="M{LEFT} {at:.1f}H{right}"/>'
        yield f'<text text-anchor="end" x="{LEFT - 8}" y="{at + 4:.1f}">{tick:.2f}</text>'
    for tick in x.ticks:
        at = LEFT + x.share(tick) * PLOT_WIDTH
        yield f'<path stroke="#999" d="M{at:.1f} {bottom}v5"/>'
        yield f'<text text-anchor="middle" x="{at:.1f}" y="{bottom + 19}">{tick:g}</text>'
    yield f'<path stroke="#999" d="M{LEFT} {bottom}H{right}"/>'
    yield f'<text text-anchor="middle" x="{LEFT + PLOT_WIDTH / 2}" y="{bottom + 40}">{escape(x.label)}</text>'


def line(points, x, y, colour):
    """Draws the mean at each position as a line, and each seed as a dot."""
    places = [(LEFT + x.share(at) * PLOT_WIDTH, values) for at, values in points]

    def height(value):
        return TOP + PLOT_HEIGHT - y.share(value) * PLOT_HEIGHT

    path = "L".join(f"{at:.1f} {height(statistics.fmean(values)):.1f}" for at, values in places)
    yield f'<path fill="none" stroke="{colour}" stroke-width="2" d="M{path}"/>'
    for at, values in places:
        for value in values:
            yield f'<circle cx="{at:.1f}" cy="{height(value):.1f}" r="3" fill="{colour}" fill-opacity="0.7"/>'


def write_chart(name, title, x, series):
    """`series` is a list of (label, points); a point is an x and its values, one per seed."""
    series = [(label, points) for label, points in series if points]
    y = y_axis([value for _, points in series for _, values in points for value in values])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="sans-serif" font-size="12" fill="#222">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" font-size="14" font-weight="bold">{escape(title)}</text>',
        *axes(x, y),
    ]
    for index, (label, points) in enumerate(series):
        colour, at = COLOURS[index], TOP + 12 + 20 * index
        parts += line(points, x, y, colour)
        parts.append(f'<path stroke="{colour}" stroke-width="2" d="M{LEFT + PLOT_WIDTH + 16} {at - 4}h18"/>')
        parts.append(f'<text x="{LEFT + PLOT_WIDTH + 40}" y="{at}">{escape(label)}</text>')
    (HERE / f"{name}.svg").write_text("\n".join([*parts, "</svg>"]) + "\n")


def by_x(runs, series, name="test_accuracy"):
    return [(x, lasts(group, name)) for x, group in groups(runs, series).items()]


def by_epoch(runs, name="test_accuracy"):
    """Points of runs of one setting that did not diverge."""
    return [(number + 1, [run.epochs[number][name] for run in runs]) for number in range(len(runs[0].epochs))]


# The studies.

RECIPES = {
    "linear": "lr × k",
    "warmup": "lr × k, warm-up",
    "sqrt": "lr × √k, warm-up",
    "decay": "lr × k, cosine",
    "cosine": "lr × k, warm-up, cosine",
    "lars": "LARS, warm-up, cosine",
    "lamb": "LAMB, warm-up, cosine",
}


def large_batches(runs):
    rows = []
    for series, label in RECIPES.items():
        for k, group in groups(runs, series).items():
            setting = [label, f"{k:g}", group[0].batch_size, f"{group[0].lr:.3g}"]
            rows.append([*setting, *spread(group), largest_fall(group), mean(group, "train_accuracy")])
    head = ["recipe", "k", "batch", "largest lr", *SPREAD, "largest fall", "training accuracy"]
    largest = max(run.x for run in runs)
    of_largest = [(label, groups(runs, series).get(largest, [])) for series, label in RECIPES.items()]
    whole = [(label, group) for label, group in of_largest if group and all(run.end != "diverged" for run in group)]
    ks = sorted({run.x for run in runs})
    write_chart("large-batches", "Test accuracy after 10 epochs", x_axis("k: batches of k × 256 images", ks, True),
                [(label, by_x(runs, series)) for series, label in RECIPES.items()])
    epochs = x_axis("epoch", list(range(1, 1 + len(whole[0][1][0].epochs))), False)
    write_chart("large-batches-epochs", f"Test accuracy, batches of {whole[0][1][0].batch_size} images", epochs,
                [(label, by_epoch(group)) for label, group in whole])
    return {"recipes": table(head, rows)}


def batch_norm(runs):
    sizes = [run for run in runs if run.series == "size"]
    rows = []
    for size, group in groups(sizes, "size").items():
        rows.append([f"{size:g}", group[0].micro_batches, *spread(group), mean(group, "train_accuracy")])
    head = ["micro-batch", "`--micro-batches`", *SPREAD, "training accuracy"]
    write_chart("batch-norm", "Accuracy in the fifth epoch",
                x_axis("images of a micro-batch", list(groups(sizes, "size")), True),
                [("test", by_x(sizes, "size")), ("training", by_x(sizes, "size", "train_accuracy"))])
    by_ranks = [group[0] for group in groups(runs, "ranks").values()]
    if len({run.end for run in by_ranks}) > 1:
        raise SystemExit("batch-norm: digests depend on the number of ranks")
    digests = [[run.ranks, run.batch_size // run.micro_batches, f"{run.last('test_accuracy'):.4f}", f"`{run.end}`"]
               for run in by_ranks]
    return {
        "sizes": table(head, rows),
        "ranks": table(["ranks", "micro-batch", "test accuracy", "digest"], digests),
    }


RULES = {
    "sgd": "MLP, SGD",
    "momentum": "MLP, momentum 0.9",
    "adamw": "MLP, AdamW",
    "lenet": "LeNet, SGD",
}


def learning_rates(runs):
    rows = [
        [label, f"{lr:g}", *spread(group), mean(group, "train_loss")]
        for series, label in RULES.items()
        for lr, group in groups(runs, series).items()
    ]
    rates = [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3]
    write_chart("learning-rates", "Test accuracy after 5 epochs", x_axis("learning rate", rates, True),
                [(label, by_x(runs, series)) for series, label in RULES.items()])
    head = ["network, rule", "lr", *SPREAD, "training loss"]
    return {"rates": table(head, rows)}


STUDIES = {"large-batches": large_batches, "batch-norm": batch_norm, "learning-rates": learning_rates}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collect", type=pathlib.Path, metavar="RUNS")
    parser.add_argument("study", choices=STUDIES)
    arguments = parser.parse_args()
    if arguments.collect:
        collect(arguments.study, arguments.collect)
    else:
        write_tables(arguments.study, STUDIES[arguments.study](read(arguments.study)))


if __name__ == "__main__":
    main()
