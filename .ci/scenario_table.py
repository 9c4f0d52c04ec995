#!/usr/bin/env python3
"""Simulates and audits every scenario; prints found, planted and false by rule as Markdown.

usage: scenario_table.py PENTIMENTO WORK [LEAKS]

A finding is found where its request is planted, and false where it is not. Findings of a call
count once; those without a call (nodes, epochs) stand in the last column.
"""

import json
import pathlib
import re
import subprocess
import sys


def run(*arguments, codes=(0,)):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode not in codes:
        raise SystemExit(f"{' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done


def main():
    program, work = sys.argv[1], pathlib.Path(sys.argv[2])
    leaks = sys.argv[3] if len(sys.argv) > 3 else "40"
    listed = subprocess.run([program, "simulate", "?", "--out", str(work / "none")],
                            capture_output=True, text=True).stderr
    names = re.search(r"known are (.*)", listed).group(1).split(", ")
    print("| scenario | planted | rule | found | false | without a call |")
    print("|---|---:|---|---:|---:|---:|")
    for name in names:
        root = work / name
        run(program, "simulate", name, "--out", str(root), "--seed", "7", "--leaks", leaks)
        case = root / "case"
        run(program, "audit", str(root / "logs"), "--config", str(root / "pentimento.toml"),
            "--case", str(case), "--quiet", codes=(0, 3, 4))
        with open(root / "labels.jsonl", encoding="utf-8") as lines:
            labels = [json.loads(line) for line in lines]
        planted = {label["request_id"] for label in labels if label["label"] == "leak"}
        hits = {}
        with open(case / "findings.jsonl", encoding="utf-8") as lines:
            for finding in map(json.loads, lines):
                found, false, other = hits.setdefault(finding["rule_id"], (set(), set(), []))
                request = finding.get("request_id")
                if request is None:
                    other.append(1)
                elif request in planted:
                    found.add(request)
                else:
                    false.add(request)
        if not hits:
            print(f"| `{name}` | {len(planted)} | none | 0 | 0 | 0 |")
        for rule, (found, false, other) in sorted(hits.items()):
            print(f"| `{name}` | {len(planted)} | {rule} | {len(found)} | {len(false)} "
                  f"| {len(other)} |")


if __name__ == "__main__":
    main()
