"""Gathers the pages of the site in WORK/docs: the documents of the tree at their places, so that their links hold, the
files that they link to, and the references of the commands and of the HTTP API."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

work = pathlib.Path(sys.argv[1])
docs = work / "docs"
tracked = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=True, text=True).stdout.split("\0")[:-1]
folders = {str(p) for f in tracked for p in pathlib.PurePath(f).parents}
link = re.compile(r"(\[[^\]]*\]\()([^)\s#]+)(#[^)\s]*)?(\))")
tests_notes = re.compile(r"<!--.*?-->\n?", re.DOTALL)  # they steer the tests of command blocks


def place(name):
    to = docs / name
    to.parent.mkdir(parents=True, exist_ok=True)
    return to


def document(name):
    """Copies a document. A file that it links to goes along, as it is; a folder or a program is named without a link,
    since a site has neither."""
    here = os.path.dirname(name)

    def linked(m):
        target = m[2]
        if re.match(r"[a-z]+:", target):
            return m[0]
        path = os.path.normpath(os.path.join(here, target))
        if path.endswith(".md"):
            return m[0]
        if path in folders:
            return m[1][1:-2]
        if path not in tracked:
            sys.exit(f"{name}: a link to {target}, which is not in the tree")
        if path.endswith((".svg", ".png")):
            shutil.copy(path, place(path))
            return m[0]
        shutil.copy(path, place(path + ".txt"))
        return f"{m[1]}{target}.txt{m[4]}"

    text = tests_notes.sub("", pathlib.Path(name).read_text())
    place(name).write_text(link.sub(linked, text))


def commands(program):
    """Joins the pages of a program's commands to one, in the order of its help."""
    pages = sorted((work / program).glob("*.md"), key=lambda p: p.stem.split("_"))
    out = [f"# {program}\n"]
    for p in pages:
        text = re.sub(r"\n### SEE ALSO\n.*", "\n", p.read_text(), flags=re.DOTALL)
        text = re.sub(r"\n### Options inherited from parent commands\n.*", "\n", text, flags=re.DOTALL)
        text = re.sub(r"^### (?=Synopsis$|Options$|Examples$)", "#### ", text, flags=re.MULTILINE)
        out.append(text)
    place(f"reference/{program}.md").write_text("\n".join(out))


def resolved(d, spec):
    while "$ref" in d:
        at = spec
        for part in d["$ref"].split("/")[1:]:
            at = at[part]
        d = at
    return d


def routes():
    spec = json.loads(pathlib.Path("server/web/openapi.json").read_text())
    out = ["# Routes of the HTTP API\n", spec["info"]["description"] + "\n",
           "Made from [openapi.json](openapi.json.txt), which nodes serve at `/v1/openapi.json`.\n"]
    for path, methods in sorted(spec["paths"].items()):
        for method, op in methods.items():
            if method == "parameters":
                continue
            out.append(f"## {method.upper()} {path}\n")
            out.append(f"**{op['summary']}**\n")
            out.append(op.get("description", "") + "\n")
            rows = [resolved(p, spec) for p in methods.get("parameters", []) + op.get("parameters", [])]
            if rows:
                out.append("| parameter | in | |\n|---|---|---|")
                out += [f"| `{p['name']}` | {p['in']} | {cell(p)} |" for p in rows]
                out.append("")
            out.append("| answer | |\n|---|---|")
            for code, r in op["responses"].items():
                out.append(f"| {code} | {cell(resolved(r, spec))} |")
            out.append("")
    place("reference/api.md").write_text("\n".join(out))
    shutil.copy("server/web/openapi.json", place("reference/openapi.json.txt"))


def cell(d):
    return d.get("description", "").replace("\n", " ").replace("|", "\\|")


for name in tracked:
    if name.endswith(".md"):
        document(name)
for program in ("kvctl", "kvnode"):
    commands(program)
routes()
