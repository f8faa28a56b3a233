"""Prints how runc runs a pod of the StatefulSet: pod.py STATEFULSET IMAGE-CONFIG INDEX ROOT VOLUMES NETNS

It stands in for a kubelet, as far as the manifest needs one: it fills in variables, the user and the restrictions, and
mounts what the manifest names. VOLUMES is a directory with one for each volume, and with the files hosts and
resolv.conf. ROOT has the files of the image, NETNS is the network namespace of the pod.
"""

import json
import re
import sys

import yaml

manifest, image, index, root, volumes, netns = sys.argv[1:]
stateful = yaml.safe_load(open(manifest))
image = json.load(open(image))["config"]
name = f"{stateful['metadata']['name']}-{index}"
pod = stateful["spec"]["template"]["spec"]
container = pod["containers"][0]
fields = {
    "metadata.name": name,
    "metadata.namespace": "default",
    "metadata.labels['apps.kubernetes.io/pod-index']": index,
}
environment = {}


def expanded(text):
    """Fills in $(NAME), a variable that was given before."""
    return re.sub(r"\$\((\w+)\)", lambda m: environment[m[1]], text)


for v in container["env"]:
    environment[v["name"]] = expanded(v["value"]) if "value" in v else fields[v["valueFrom"]["fieldRef"]["fieldPath"]]


def bind(source, target, writable=False):
    mode = "rw" if writable else "ro"
    return {"destination": target, "source": source, "type": "bind", "options": ["rbind", "nosuid", "nodev", mode]}


security, limits = container["securityContext"], container["resources"]["limits"]
assert security["capabilities"] == {"drop": ["ALL"]} and pod["securityContext"]["runAsNonRoot"]
unit = {"Mi": 2**20, "Gi": 2**30}
memory = int(limits["memory"][:-2]) * unit[limits["memory"][-2:]]
json.dump({
    "ociVersion": "1.0.2",
    "hostname": name,
    "root": {"path": root, "readonly": security["readOnlyRootFilesystem"]},
    "process": {
        "args": container.get("command", image["Entrypoint"]) + [expanded(a) for a in container["args"]],
        "env": image["Env"] + [f"{k}={v}" for k, v in environment.items()],
        "cwd": image["WorkingDir"],
        "user": {
            "uid": pod["securityContext"]["runAsUser"],
            "gid": pod["securityContext"]["runAsGroup"],
            "additionalGids": [pod["securityContext"]["fsGroup"]],
        },
        "noNewPrivileges": not security["allowPrivilegeEscalation"],
        "capabilities": {},
    },
    "mounts": [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=65536k"]},
        bind(f"{volumes}/hosts", "/etc/hosts"),
        bind(f"{volumes}/resolv.conf", "/etc/resolv.conf"),
    ] + [bind(f"{volumes}/{m['name']}", m["mountPath"], not m.get("readOnly")) for m in container["volumeMounts"]],
    "linux": {
        "namespaces": [{"type": t} for t in ("pid", "mount", "ipc", "uts")] + [{"type": "network", "path": netns}],
        "resources": {"memory": {"limit": memory}, "devices": [{"allow": False, "access": "rwm"}]},
        "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list"],
        "readonlyPaths": ["/proc/sys", "/proc/irq", "/proc/bus"],
    },
}, sys.stdout, indent=1)
