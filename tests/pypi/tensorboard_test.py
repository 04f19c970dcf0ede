"""TensorBoard reads what runs write for it: a run that is killed and resumed on another number of ranks, and one whose
event file lockstep report makes afterwards. Usage: tensorboard_test.py LOCKSTEP LOCKSTEP_RUN"""

import json
import pathlib
import subprocess
import sys
import tempfile

from check_event_files import check

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
    (file,) = (folder / "tensorboard").iterdir()
    file.write_bytes(file.read_bytes()[:-7])
    return file


def main():
    lockstep, lockstep_run = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        killed, plain = folder / "killed", folder / "plain"
        run([lockstep_run, "-np", "2"], "train", *OPTIONS, "--tensorboard", "--epochs", 3, "--max-steps", 13, "--run-dir",
            killed)
        before = as_if_killed(killed)
        run([lockstep], "train", "--resume", killed, "--max-steps", 0)
        (after,) = (killed / "tensorboard").iterdir()
        assert after.name > before.name, (before, after)
        numbers, matrices = check(killed, killed / "tensorboard")
        assert matrices == 3, matrices

        run([lockstep], "train", *OPTIONS, "--epochs", 3, "--log-interval", 2, "--run-dir", plain)
        run([lockstep], "report", plain, "--tensorboard", folder / "logs")
        fewer, matrices = check(plain, folder / "logs")
        assert fewer < numbers and matrices == 0, (fewer, numbers, matrices)


if __name__ == "__main__":
    main()
