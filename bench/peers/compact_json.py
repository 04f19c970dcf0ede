"""JSON of measured numbers: nine digits, which are enough for float32, and a list of them on a line."""

import json


def compact(value, indent=0):
    """Text of `value`. A list of numbers is one line; the entries of other lists and objects have lines of their own."""
    inner = " " * (indent + 1)
    if isinstance(value, dict):
        entries = [f"{json.dumps(key)}: {compact(entry, indent + 1)}" for key, entry in value.items()]
        return "{\n" + ",\n".join(inner + entry for entry in entries) + "\n" + " " * indent + "}"
    if isinstance(value, list) and any(isinstance(entry, (dict, list)) for entry in value):
        return "[\n" + ",\n".join(inner + compact(entry, indent + 1) for entry in value) + "\n" + " " * indent + "]"
    if isinstance(value, list):
        return "[" + ", ".join(compact(entry) for entry in value) + "]"
    return f"{value:.9g}" if isinstance(value, float) else json.dumps(value)


def write(path, value):
    with open(path, "w") as file:
        file.write(compact(value) + "\n")
