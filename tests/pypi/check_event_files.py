"""Checks with the tensorboard package that it reads the record of a run from its event file: the same steps, epochs,
options and classes as metrics.jsonl and options.cfg have, each once. Usage: check_event_files.py RUN FOLDER"""

import json
import math
import pathlib
import re
import shutil
import struct
import sys
import tempfile

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

AXES = {"step": "step", "epoch": "epoch"}


def read(folder):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0, "images": 0})
    events.Reload()
    return events


def as_float32(number):
    return math.nan if number is None else struct.unpack("f", struct.pack("f", number))[0]


def scalars_of_record(lines):
    """{tag: [(step, number)]} of metrics.jsonl."""
    scalars = {}
    for line in lines:
        axis = AXES.get(line["event"])
        if axis is None:
            continue
        numbers = {k: v for k, v in line.items() if k not in ("event", "step", "epoch") and not isinstance(v, str)}
        if axis == "epoch":  # one of which no step counts has no training loss
            numbers = {k: v for k, v in numbers.items() if v is not None}
        if axis == "step":
            numbers["images_per_second"] = line["samples"] / line["seconds"]
        for name, number in numbers.items():
            scalars.setdefault(f"{axis}/{name}", []).append((line[axis], as_float32(number)))
    return scalars


def same(a, b):
    # images_per_second of a step is computed from rounded seconds
    return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-6)


def check_scalars(events, lines):
    expected = scalars_of_record(lines)
    tags = [tag for tag in events.Tags()["scalars"] if not tag.startswith("epoch/macro_")]
    assert sorted(tags) == sorted(expected), (tags, sorted(expected))
    for tag, numbers in expected.items():
        found = [(event.step, event.value) for event in events.Scalars(tag)]
        assert [step for step, _ in found] == [step for step, _ in numbers], (tag, found, numbers)
        for (step, a), (_, b) in zip(found, numbers):
            assert same(a, b), (tag, step, a, b)
        times = [event.wall_time for event in events.Scalars(tag)]
        assert times == sorted(times), (tag, times)
    return sum(len(numbers) for numbers in expected.values())


def text_of(events, tag):
    return [tensor_util.make_ndarray(event.tensor_proto).item().decode() for event in events.Tensors(tag)]


def unescaped(text):
    return re.sub(r"\\(.)", r"\1", text)


def check_texts(events, run, lines):
    rows = [line.split(" = ", 1) for line in (run / "options.cfg").read_text().splitlines() if " = " in line]
    (options,) = text_of(events, "options")
    for name, value in rows:
        if not name.startswith("#"):
            assert f"| {name} | {value} |" in unescaped(options), (name, value)
    digests = [line["digest"] for line in lines if line["event"] == "end"]
    assert [text.split(" ")[0] for text in map(unescaped, text_of(events, "digest"))] == digests


def check_confusion(events, lines):
    matrices = [line for line in lines if line["event"] == "confusion"]
    epochs = [line["epoch"] for line in matrices]
    if not matrices:
        return 0
    images = events.Images("confusion/matrix")
    assert [image.step for image in images] == epochs
    assert all(image.encoded_image_string.startswith(b"\x89PNG") for image in images)
    tables = text_of(events, "confusion/classes")
    assert [event.step for event in events.Tensors("confusion/classes")] == epochs
    for table, matrix in zip(tables, matrices):
        size = math.isqrt(len(matrix["samples"]))
        for number, row in enumerate(table.splitlines()[2:]):
            samples = sum(matrix["samples"][number * size : (number + 1) * size])
            assert f" | {samples} | " in row, (row, samples)
    return len(matrices)


def event_file(folder):
    """The last one; the earlier ones are empty."""
    *earlier, last = sorted(folder.glob("events.out.tfevents.*"))
    assert all(file.stat().st_size == 0 for file in earlier), earlier
    return last


def check_torn_file(folder, whole):
    """A writer that was killed in the middle of a record hides none of the records before it."""
    file = event_file(folder)
    with tempfile.TemporaryDirectory() as copy:
        torn = pathlib.Path(copy) / file.name
        shutil.copy(file, torn)
        torn.write_bytes(torn.read_bytes()[:-3])
        steps = read(copy).Scalars("step/loss")
        assert steps == whole.Scalars("step/loss"), (steps, whole)
        # The next start adds a file that lists the record from its beginning.
        shutil.copy(file, torn.parent / file.name.replace("tfevents.", "tfevents.9"))
        both = read(copy)
        for tag in whole.Tags()["scalars"]:
            assert both.Scalars(tag) == whole.Scalars(tag), tag


def check(run, folder):
    """Returns how many numbers and confusion matrices there are."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    events = read(folder)
    numbers = check_scalars(events, lines)
    check_texts(events, run, lines)
    matrices = check_confusion(events, lines)
    check_torn_file(folder, events)
    return numbers, matrices


if __name__ == "__main__":
    print("{} numbers, {} matrices".format(*check(*map(pathlib.Path, sys.argv[1:]))))
