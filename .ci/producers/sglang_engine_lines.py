#!/usr/bin/env python3
"""Lets the code of released SGLang wheels write the lines that a node prints, and says what they are.

Usage: sglang_engine_lines.py DIR. Fetches four wheels, compiles only the formatting code out of
their sources (two methods of a request, and the f-strings of log lines), and runs it on made-up
requests, without torch or a GPU. Writes DIR/VERSION/glm-prefill-1.log and DIR/engine-lines.jsonl
for `cargo test -p pentimento-core --test producers -- --ignored engine_lines`.
"""

import ast
import builtins
import json
import pathlib
import subprocess
import sys
import types
import zipfile

VERSIONS = ("0.5.9", "0.5.15", "0.5.19", "0.5.23")
ROOM = 5120033876543210987
LENGTH, LIMIT, POOL, WINDOW = 684000, 681274, 681280, 1048576
RID = "4c1f4b7e9a0d4f7e8f1a"

# Kind of event, how the line begins, and which of its numbers must be read.
LINES = [
    ("startup", "max_total_num_tokens=", {"pool": POOL, "window": WINDOW}),
    ("length_rejected", "Input length (", {"n1": LENGTH, "n2": LIMIT}),
    ("multimodal_rejected", "Multimodal prompt is too long", {"n1": LENGTH, "n2": LIMIT}),
    ("grammar_timeout", "Grammar preprocessing timed out", {}),
    ("pool_exceeded", "Request ", {"n1": LENGTH}),
    ("prefill_bootstrap_failed", "Prefill bootstrap failed for request", {"room": True}),
    ("prefill_transfer_failed", "Prefill transfer failed for request", {"room": True}),
    ("decode_handshake_failed", "Decode handshake failed for request", {"room": True}),
    ("decode_transfer_failed", "Decode transfer failed for request", {"room": True}),
    ("context_corruption", "Context corruption detected", {"room": True}),
    ("kv_checksum_mismatch", "KV checksum mismatch req=", {"room": True}),
    ("metadata_not_ready", "Metadata unexpectedly not ready", {"room": True}),
    ("client_disconnected", "Request is disconnected from the client side", {}),
    ("aborted", "Abort queued request", {}),
    ("aborted", "Abort running request", {}),
    ("aborted", "Abort transfer queue request", {}),
    ("state_deleted", "Received output for", {}),
]
# Lines that the scheduler writes behind a refusal: the id stands at the end.
REFUSALS = {"length_rejected", "multimodal_rejected", "grammar_timeout"}
# Lines that every one of the wheels must have; the others came or went between them.
EVERYWHERE = {
    "startup", "length_rejected", "multimodal_rejected", "grammar_timeout", "pool_exceeded",
    "prefill_bootstrap_failed", "prefill_transfer_failed", "decode_handshake_failed",
    "decode_transfer_failed", "context_corruption", "client_disconnected", "aborted",
    "state_deleted", "req_time_stats",
}


class Stand:
    """Stands for whatever a line mentions."""

    def __getattr__(self, name):
        return value(name)

    def __call__(self, *_args, **_kwargs):
        return self

    def __format__(self, spec):
        return "1.00" if spec.endswith("f") else "x"

    def __repr__(self):
        return "x"

    def __len__(self):
        return LENGTH


def value(name):
    known = {
        "rid": RID, "bootstrap_room": ROOM, "expected_room": ROOM, "actual_room": 77,
        "origin_input_ids": range(LENGTH), "origin_input_ids_unpadded": range(9),
        "output_ids": range(411), "max_req_input_len": LIMIT, "max_total_num_tokens": POOL,
        "max_input_len": POOL, "input_len": LENGTH, "capacity": POOL, "context_len": WINDOW,
        "tp_rank": 0, "idx": 3, "expected": 12, "actual": 13, "chunked_prefill_size": 8192,
        "max_prefill_tokens": 16384, "max_running_requests": 128, "available_gpu_mem": 9.1,
        "avail_mem": 9.1, "cached_tokens": 64, "prefill_attempt_count": 1, "grammar_key": ("json", "{}"),
    }
    return known.get(name, Stand())


class Names(dict):
    """Names of a line as stand-ins; builtins stay what they are."""

    def __missing__(self, name):
        if hasattr(builtins, name):
            raise KeyError(name)
        return value(name)


def wheel(version, folder):
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder,
         f"sglang=={version}"], check=True,
    )
    return next(pathlib.Path(folder).glob(f"sglang-{version}-*.whl"))


def trees(path):
    """Sources of the serving runtime that hold one of the lines or methods, parsed."""
    marks = [begin.encode() for _, begin, _ in LINES if begin != "Request "]
    marks += [b" exceeds the maximum number of tokens", b"def log_time_stats",
              b"def set_finish_with_abort"]
    with zipfile.ZipFile(path) as files:
        for name in sorted(files.namelist()):
            if not name.startswith("sglang/srt/") or not name.endswith(".py"):
                continue
            if "/hardware_backend/" in name:
                continue
            source = files.read(name)
            if any(mark in source for mark in marks):
                yield name, ast.parse(source)


def lead(node):
    """The literal text that a string begins with."""
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def spoken(node):
    code = compile(ast.fix_missing_locations(ast.Expression(node)), "line", "eval")
    return eval(code, {}, Names())


def methods(sources, names):
    found = {}
    for _, tree in sources:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name in names:
                found.setdefault(node.name, []).append(node)
    return found


def run(node, names, *arguments):
    """Runs one method of the sources with stand-ins for all that it does not define."""
    node.returns = None
    for argument in [*node.args.args, *node.args.kwonlyargs]:
        argument.annotation = None
    node.decorator_list = []
    code = compile(ast.fix_missing_locations(ast.Module([node], [])), "method", "exec")
    scope = dict(names)
    exec(code, scope)
    return scope[node.name](*arguments)


def time_stats(sources, role):
    """The account of a request, by the engine's own method."""
    found = methods(sources, {"log_time_stats"})["log_time_stats"]
    said = []
    logger = types.SimpleNamespace(info=said.append)
    stats = types.SimpleNamespace(
        disagg_mode_str=lambda: role,
        convert_to_duration=lambda: "queue_duration=0.10ms, transfer_speed=1.00 GB/s, "
        "transfer_total=4.50 MB",
    )
    for node in found:
        request = types.SimpleNamespace(
            has_log_time_stats=False, bootstrap_room=ROOM, rid=RID,
            origin_input_ids=range(1 if role == "prefill" else LENGTH),
            output_ids=range(1 if role == "prefill" else 411), cached_tokens=0,
            prefill_attempt_count=1, time_stats=stats,
        )
        try:
            run(node, {"logger": logger}, request)
        except (AttributeError, TypeError):
            continue
    return [line for line in said if "Stats(rid=" in line]


def refusal(sources, message):
    """What the scheduler writes of a refused request, by the engine's own method."""
    for node in methods(sources, {"set_finish_with_abort"})["set_finish_with_abort"]:
        said = []
        names = {
            "logger": types.SimpleNamespace(error=said.append),
            "get_tensor_model_parallel_rank": lambda: 0,
            "get_parallel": lambda: types.SimpleNamespace(tp_rank=0),
            "array": lambda *_: [0], "FINISH_ABORT": lambda *_a, **_k: None, "torch": Stand(),
            "HTTPStatus": types.SimpleNamespace(BAD_REQUEST=400),
        }
        request = types.SimpleNamespace(rid=RID, release_mm_inputs_on_abort=lambda: None)
        try:
            run(node, names, request, message)
        except (AttributeError, TypeError, NameError):
            pass
        if said:
            return said[0]
    raise SystemExit("no refusal was written")


def lines_of(path):
    sources = list(trees(path))
    strings = [node for _, tree in sources for node in ast.walk(tree)
               if isinstance(node, ast.JoinedStr)]
    for role in ("prefill", "decode"):
        for line in time_stats(sources, role):
            yield "req_time_stats", line, {
                "room": True, "n1": 1 if role == "prefill" else LENGTH, "role": role,
            }
    for kind, begin, read in LINES:
        texts = {spoken(node): None for node in strings if lead(node).startswith(begin)}
        if kind == "pool_exceeded":
            texts = {t: None for t in texts if " exceeds the maximum number of tokens: " in t}
        if kind == "startup":
            texts = {t: None for t in texts if "context_len=" in t}
        for text in texts:
            yield kind, refusal(sources, text) if kind in REFUSALS else text, read


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "engine-lines.jsonl", "w", encoding="utf-8") as out:
        for version in VERSIONS:
            target = folder / version
            target.mkdir(exist_ok=True)
            seen = set()
            with open(target / "glm-prefill-1.log", "w", encoding="utf-8") as log:
                for at, (kind, line, read) in enumerate(lines_of(wheel(version, str(folder)))):
                    seen.add(kind)
                    log.write(f"[2026-09-01 10:{at // 60:02}:{at % 60:02} TP0] {line}\n")
                    row = {"version": version, "line": at, "kind": kind, "text": line}
                    row.update({k: v for k, v in read.items() if k != "room"})
                    row["room"] = str(ROOM) if read.get("room") else None
                    row["rid"] = RID if RID in line else None
                    out.write(json.dumps(row) + "\n")
            missing = EVERYWHERE - seen
            if missing:
                raise SystemExit(f"sglang {version}: no line of {sorted(missing)}")
            print(f"sglang {version}: lines of {len(seen)} kinds")


if __name__ == "__main__":
    main()
