"""TensorBoard reads what runs write for it, also one that was started before: a run that is killed and resumed on
another number of ranks, then from an older checkpoint; one that returns to a checkpoint after a loss that is NaN; and
one whose event file lockstep report makes afterwards. Usage: tensorboard_test.py LOCKSTEP LOCKSTEP_RUN"""

import json
import pathlib
import subprocess
import sys
import tempfile

from check_event_files import check, event_file
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator

OPTIONS = (
    "--dataset synthetic --synthetic-shape 1x8x8 --samples 600 --classes 7 --model mlp:8 --batch-size 64 "
    "--micro-batches 4 --threads 1 --clip-grad 1 --validation-fraction 0.1 --quiet --device cpu"
).split()


def run(command, *arguments):
    subprocess.run([*command, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, timeout=120)


def as_if_killed(folder):
    """What a kill after the last checkpoint leaves: steps that are made again, and a record that is cut off."""
    metrics = folder / "metrics.jsonl"
    lines = [line for line in metrics.read_text().splitlines() if json.loads(line)["event"] != "end"]
    step = json.loads([line for line in lines if '"event":"step"' in line][-1])
    later = [json.dumps({**step, "step": step["step"] + 1 + more, "loss": 99.0}) for more in range(3)]
    metrics.write_text("\n".join([*lines, *later, later[-1][:20]]))
    file = event_file(folder / "tensorboard")
    file.write_bytes(file.read_bytes()[:-7])
    return file


def tensors(events):
    return {tag: events.Tensors(tag) for tag in events.Tags()["tensors"]}


class Window:
    """A TensorBoard that is running."""

    def __init__(self, run_folder):
        self.run = run_folder
        self.events = self.opened()

    def opened(self):
        events = EventAccumulator(str(self.run / "tensorboard"), size_guidance={"tensors": 0})
        events.Reload()
        return events

    def check(self):
        """It shows what one shows that is started now, which is the record of the run."""
        self.events.Reload()
        shown, new = map(tensors, (self.events, self.opened()))
        assert shown.keys() == new.keys(), (shown.keys(), new.keys())
        for tag, values in new.items():
            assert shown[tag] == values, tag
        check(self.run, self.run / "tensorboard")


def check_rollback(lockstep, folder):
    """The 1 for a text that one row has is divided by almost zero: the loss of one step in each epoch is NaN."""
    rows = ["text,label", *(f"{'ab'[i % 2]},{'cd'[i % 3 % 2]}" for i in range(60))]
    (folder / "test.csv").write_text("\n".join(rows))
    (folder / "train.csv").write_text("\n".join([*rows, "once,c"]))
    layers = [{"op": "linear", "features": 8, "weight": {"normal": 100}}, {"op": "linear", "features": "classes"}]
    (folder / "net.json").write_text(json.dumps({"layers": layers}))
    options = (
        "--dataset csv --recipe none --mean 0 --std 1,1,2e-38 --batch-size 8 --epochs 2 --device cpu --threads 1 "
        "--on-nan rollback --checkpoint-every 2 --max-steps 2 --tensorboard --quiet"
    ).split()
    back = folder / "back"
    run([lockstep], "train", *options, "--data-dir", folder, "--model", folder / "net.json", "--run-dir", back)
    window = Window(back)
    run([lockstep], "train", "--resume", back, "--max-steps", 0)
    events = [json.loads(line)["event"] for line in (back / "metrics.jsonl").read_text().splitlines()]
    assert events.count("not_finite") == 2, events
    window.check()


def main():
    lockstep, lockstep_run = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        killed, plain = folder / "killed", folder / "plain"
        run([lockstep_run, "-np", "2"], "train", *OPTIONS, "--tensorboard", "--epochs", 3, "--max-steps", 13, "--run-dir",
            killed)
        before = as_if_killed(killed)
        window = Window(killed)
        run([lockstep], "train", "--resume", killed, "--max-steps", 0)
        after = event_file(killed / "tensorboard")
        assert after.name > before.name, (before, after)
        numbers, matrices = check(killed, killed / "tensorboard")
        assert matrices == 3, matrices
        window.check()
        older = min((killed / "checkpoints").glob("step-*"))
        run([lockstep], "train", "--resume", older, "--max-steps", int(older.name[5:]) + 3)
        window.check()
        run([lockstep], "train", "--resume", killed, "--max-steps", 0)
        window.check()
        check_rollback(lockstep, folder)

        run([lockstep], "train", *OPTIONS, "--epochs", 3, "--log-interval", 2, "--run-dir", plain)
        run([lockstep], "report", plain, "--tensorboard", folder / "logs")
        fewer, matrices = check(plain, folder / "logs")
        assert fewer < numbers and matrices == 0, (fewer, numbers, matrices)


if __name__ == "__main__":
    main()
