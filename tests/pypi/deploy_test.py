"""Checks the files of deploy/ against published schemas: objects of Kubernetes by kubernetes-validate, custom resources by
the fields of their definitions in schemas/. Also checks that names refer to something, and that lockstep and its
launcher know the options. Each planted mistake must be found. Nothing runs on a cluster.
Usage: deploy_test.py DEPLOY LOCKSTEP LOCKSTEP_RUN"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import jsonschema
import kubernetes_validate
import yaml

KUBERNETES = "1.31"  # the files name it too
SCHEMAS = [json.loads(file.read_text()) for file in (pathlib.Path(__file__).parent / "schemas").glob("*.json")]
SCHEMA_OF_KIND = {(schema.get("apiVersion"), schema.get("kind")): schema["schema"] for schema in SCHEMAS}
SCHEMA_OF_SKYPILOT = SCHEMA_OF_KIND.pop((None, None))

# File, text, its replacement, and a part of the expected message.
PLANTED = r"""
storage.yaml      | accessModes: [ReadWriteMany]      | accessMode: [ReadWriteMany]       | accessMode
storage.yaml      | storage: 20Gi                     | storage: [20Gi]                   | storage
jobset.yaml       | onJobFailureReasons:              | onJobFailureReason:               | onJobFailureReason
jobset.yaml       | maxRestarts: 10                   | maxRestarts: "10"                 | '10' is not of type
jobset.yaml       | action: FailJobSet                | action: FailJobset                | 'FailJobset' is not one of
jobset.yaml       | targetReplicatedJobs: [launcher]  | targetReplicatedJobs: [starter]   | starter
jobset.yaml       | backoffLimit: 0                   | backofLimit: 0                    | backofLimit
jobset.yaml       | values: [2, 3, 75]                | values: [2, 3, "75"]              | '75' is not of type
jobset.yaml       | containerName: launcher           | containerName: starter            | starter
jobset.yaml       | status: "True"                    | status: True                      | True is not of type
jobset.yaml       | readOnlyRootFilesystem: true      | readonlyRootFilesystem: true      | readonlyRootFilesystem
jobset.yaml       | parallelism: 2                    | parallelism: 3                    | 3 workers
jobset.yaml       | worker-0-1.lockstep               | worker-1-0.lockstep               | lockstep-worker-1-0.lockstep
jobset.yaml       | name: shm                         | name: shmem                       | shmem
jobset.yaml       | replicas: 1                       | replicas: 1\n      replicas: 1    | twice
mpijob.yaml       | slotsPerWorker: 1                 | slotPerWorker: 1                  | slotPerWorker
mpijob.yaml       | mpiImplementation: OpenMPI        | mpiImplementation: openmpi        | 'openmpi' is not one of
mpijob.yaml       | containerPort: 2222               | containerPort: "2222"             | '2222' is not of type
mpijob.yaml       | medium: Memory                    | medum: Memory                     | medum
mpijob.yaml       | --resume=auto                     | --resumes=auto                    | lockstep train has no option --resumes
mpijob.yaml       | --grace                           | --graces                          | lockstep-run has no option --graces
mpijob.yaml       | apiVersion: kubeflow.org/v2beta1  | apiVersion: kubeflow.org/v2beta2  | v2beta2
trainjob.yaml     | sshAuthMountPath:                 | sshMountPath:                     | sshMountPath
trainjob.yaml     | runtimeRef:                       | runtimeRefs:                      | 'runtimeRef' is a required property
trainjob.yaml     | numNodes: 2                       | numNodes: two                     | 'two' is not of type
trainjob.yaml     | terminationGracePeriodSeconds:    | terminationGracePeriod:           | terminationGracePeriod
trainjob.yaml     | --model=lenet                     | --modell=lenet                    | lockstep train has no option --modell
trainjob.yaml     | kind: TrainingRuntime             | kind: TrainRuntime                | TrainRuntime
volcano.yaml      | exitCode: 75                      | exitcode: 75                      | exitcode
volcano.yaml      | action: RestartJob                | action: RestartJobs               | RestartJobs
volcano.yaml      | exitCode: 2                       | exitCode: 2\n          event: Unknown | both exitCode and events
volcano.yaml      | events: [PodEvicted, PodFailed]   | events: [PodEvicted, PodFail]     | 'PodFail' is not one of
volcano.yaml      | minAvailable: 2                   | minAvailable: two                 | 'two' is not of type
volcano.yaml      | restartPolicy: Never              | restartpolicy: Never              | restartpolicy
volcano.yaml      | name: [worker]                    | name: [workers]                   | workers
volcano.yaml      | --grace, "100"                    | --grace, "120"                    | --grace
lockstep.yaml     | recover_on_exit_codes: [75]       | recover_on_exit_code: [75]        | recover_on_exit_code
lockstep.yaml     | recover_on_exit_codes: [75]       | recover_on_exit_codes: ["75"]     | '75' is not of type
lockstep.yaml     | num_nodes: 2                      | num_nodes: "2"                    | '2' is not of type
lockstep.yaml     | --run-dir                         | --run-directory                   | no option --run-directory
"""


class UniqueKeys(yaml.SafeLoader):
    """PyYAML takes the last of two equal keys; Kubernetes refuses the file."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise ValueError(f"{key} is given twice, line {node.start_mark.line + 1} and later")
        return super().construct_mapping(node, deep)


def check_core(document):
    try:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
    except kubernetes_validate.SchemaNotFoundError as error:
        raise ValueError(error.message) from error  # str(error) is empty


def check_template(_, kind, value, schema):
    """Templates in custom resources, by the schemas of Kubernetes."""
    document = {"apiVersion": "v1", "template": value} if kind == "PodTemplate" else {"apiVersion": "batch/v1", **value}
    check_core({"kind": kind, "metadata": {"name": "template"}, **document})
    return []


CustomResource = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"kind": check_template})


def check_custom(document, schema):
    for error in CustomResource(schema).iter_errors(document):
        raise ValueError(error.message)  # str(error) contains the whole document


def find_all(value, key):
    """All values of a key, at any depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == key:
                yield inner
            yield from find_all(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from find_all(inner, key)


def names(items):
    return {item["name"] for item in items}


def refer(wanted, known, what):
    for name in wanted:
        if name not in known:
            raise ValueError(f"no {what} is named {name}; there are: {', '.join(sorted(known))}")


def check_names(document):
    """Schemas do not see whether a name refers to something."""
    tasks = [*find_all(document, "replicatedJobs"), *find_all(document, "tasks")]
    known = {task["name"] for group in tasks for task in group}
    for targets in find_all(document, "targetReplicatedJobs"):
        refer(targets, known, "job")
    for targets in find_all(document, "dependsOn"):
        refer(targets["name"] if isinstance(targets, dict) else names(targets), known, "job")
    for template in find_all(document, "template"):
        pod = template["spec"]
        if "podFailurePolicy" in pod:
            containers = names(pod["template"]["spec"]["containers"])
            refer(find_all(pod["podFailurePolicy"], "containerName"), containers, "container")
        for container in pod.get("containers", []):
            # Volumes for ssh that operators add have their own mounts.
            refer(names(container["volumeMounts"]), names(pod["volumes"]), "volume")


def check_policies(document):
    """Volcano's definition has actions as plain strings; others than these are refused when a job is made
    (pkg/webhooks/admission/jobs/validate/util.go of v1.15.1)."""
    actions = {"AbortJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "TerminateJob", "CompleteJob",
               "ResumeJob"}
    for policy in (policy for policies in find_all(document, "policies") for policy in policies):
        refer([policy["action"]], actions, "action")
        if "exitCode" in policy and policy.keys() & {"event", "events"}:
            raise ValueError("a policy has both exitCode and events")


def check_workers(document):
    """The hosts of a JobSet are named by its numbers of jobs and pods."""
    for jobs in find_all(document, "replicatedJobs"):
        for job in (job for job in jobs if job["name"] == "worker"):
            spec = job["template"]["spec"]
            count = job["replicas"] * spec["parallelism"]
            if spec["parallelism"] != spec["completions"]:
                raise ValueError(f"{spec['parallelism']} workers at once, {spec['completions']} in all")
            hosts = [f"{document['metadata']['name']}-worker-0-{pod}.{document['spec']['network']['subdomain']}"
                     for pod in range(count)]
            given = next(args for args in find_all(document, "args"))[1].split(",")
            if given != hosts:
                raise ValueError(f"hosts {','.join(given)}, but the pods are {','.join(hosts)}")


class Options:
    """Options that lockstep train and lockstep-run have, as their help says."""

    def __init__(self, lockstep, lockstep_run):
        def named(*command):
            text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={
                **os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}).stdout
            return set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", text))

        self.train = named(lockstep, "train", "--help")
        self.launcher = named(lockstep_run, "--help") | named("mpirun", "--help", "launch") | named("mpirun", "--help", "mapping")

    def check(self, words):
        """Words of a command line after lockstep-run."""
        position = words.index("train")
        for known, program, part in ((self.launcher, "lockstep-run", words[:position]),
                                     (self.train, "lockstep train", words[position + 1:])):
            for word in part:
                option = word.partition("=")[0]
                if word.startswith("-") and option not in known:
                    raise ValueError(f"{program} has no option {option}")


def check_commands(document, options):
    """Command lines that start lockstep-run, and the time that its ranks have to stop."""
    started = 0
    arguments = document["spec"].get("trainer", {}).get("args")
    if arguments:
        options.check(arguments)
        started += 1
    for template in find_all(document, "template"):
        pod = template["spec"]
        for container in pod.get("containers", []):
            words = [*container["command"], *container.get("args", [])]
            if words[0] != "lockstep-run":
                continue
            # The TrainJob supplies the arguments of a runtime.
            options.check([*words[1:], *([] if "train" in words else ["train"])])
            started += 1
            grace = int(words[words.index("--grace") + 1])
            if grace >= pod["terminationGracePeriodSeconds"]:
                raise ValueError(f"--grace {grace} is not less than the pod's {pod['terminationGracePeriodSeconds']} s")
    return started


def check_kubernetes(text, options):
    if f"Kubernetes {KUBERNETES}" not in text:
        raise ValueError(f"the file does not name Kubernetes {KUBERNETES}")
    started = 0
    for document in yaml.load_all(text, UniqueKeys):
        key = document["apiVersion"], document["kind"]
        if key not in SCHEMA_OF_KIND:
            check_core(document)
            continue
        (version,) = [schema["version"] for schema in SCHEMAS if (schema.get("apiVersion"), schema.get("kind")) == key]
        if version not in text:
            raise ValueError(f"the schema is of {version}, which the file does not name")
        check_custom(document, SCHEMA_OF_KIND[key])
        check_names(document)
        check_policies(document)
        check_workers(document)
        started += check_commands(document, options)
    return started


def check_skypilot(text, options):
    document = yaml.load(text, UniqueKeys)
    jsonschema.validate(document, SCHEMA_OF_SKYPILOT)
    script = document["run"].replace("\\\n", " ")
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    started = [shlex.split(line) for line in script.splitlines() if "lockstep-run " in line]
    for words in started:
        options.check(words[1:])
    return len(started)


def check(file, text, options):
    return (check_skypilot if file.parent.name == "skypilot" else check_kubernetes)(text, options)


def main():
    folder, lockstep, lockstep_run = sys.argv[1:]
    options = Options(lockstep, lockstep_run)
    files = {file.name: file for kind in ("kubernetes", "skypilot")
             for file in sorted(pathlib.Path(folder, kind).glob("*.yaml"))}
    for file in files.values():
        started = check(file, file.read_text(), options)
        print(f"{file.parent.name}/{file.name}: valid; command lines checked: {started}")
        assert started > 0 or file.name == "storage.yaml"

    tables = [[cell.strip() for cell in line.split(" | ")] for line in PLANTED.strip().splitlines()]
    assert {row[0] for row in tables} == files.keys(), f"other files than those with planted mistakes: {[*files]}"
    for name, right, wrong, message in tables:
        text = files[name].read_text()
        assert right in text, f"{name} does not contain: {right}"
        try:
            check(files[name], text.replace(right, wrong.replace("\\n", "\n"), 1), options)
        except Exception as error:
            assert message in str(error), f"{name}: {wrong}: {error}"
        else:
            raise AssertionError(f"{name}: not found: {wrong}")
    print(f"{len(tables)} planted mistakes: all found")


if __name__ == "__main__":
    main()
