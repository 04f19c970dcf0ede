"""Trims a custom resource definition to what deploy_test.py reads: fields, types, enums. Descriptions and the status are
left out. Templates of jobs and pods become references to the kinds of Kubernetes, which have a schema of their own.
Usage: trim_schema.py SOURCE VERSION [--without spec.FIELD]... <CRD.yaml >schemas/NAME.json"""

import argparse
import json
import sys

import yaml

KEYWORDS = ("type", "enum", "required", "pattern", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength")


def trim(schema, without, path=()):
    fields = schema.get("properties", {})
    spec = fields.get("spec", {}).get("properties", {})
    if "containers" in spec:
        return {"kind": "PodTemplate"}
    if {"template", "podFailurePolicy", "completions"} <= spec.keys():
        return {"kind": "Job"}
    result = {keyword: schema[keyword] for keyword in KEYWORDS if keyword in schema}
    if schema.get("x-kubernetes-int-or-string"):
        result["type"] = ["integer", "string"]
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        result["additionalProperties"] = True
    elif "additionalProperties" in schema:
        result["additionalProperties"] = trim(schema["additionalProperties"], without, path)
    elif fields:
        result["additionalProperties"] = False
        result["properties"] = {
            name: trim(field, without, (*path, name))
            for name, field in fields.items()
            if ".".join((*path, name)) not in without
        }
    if "items" in schema:
        result["items"] = trim(schema["items"], without, path)
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("version")
    parser.add_argument("--without", action="append", default=["status"])
    arguments = parser.parse_args()
    definition = yaml.load(sys.stdin, yaml.CSafeLoader)["spec"]
    (version,) = [version for version in definition["versions"] if version["storage"]]
    schema = trim(version["schema"]["openAPIV3Schema"], arguments.without)
    schema["properties"]["metadata"] = {"type": "object"}
    result = {
        "source": arguments.source,
        "version": arguments.version,
        "apiVersion": f"{definition['group']}/{version['name']}",
        "kind": definition["names"]["kind"],
        "schema": schema,
    }
    json.dump(result, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
