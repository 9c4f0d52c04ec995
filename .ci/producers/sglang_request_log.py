#!/usr/bin/env python3
"""Lets SGLang's own request logger write logs, and says what they hold.

Usage: sglang_request_log.py DIR. Fetches the released wheel, takes only its two logging modules out
of it, and runs them without torch or a GPU. Writes DIR/FORMAT-LEVEL/HOST_0.log and
DIR/expected.jsonl for `cargo test -p pentimento-core --test producers -- --ignored`.
"""

import dataclasses
import enum
import json
import pathlib
import subprocess
import sys
import types
import typing
import zipfile

VERSION = "0.5.23"
MODULES = ("log_utils", "request_logger")
KEPT = 1024  # characters at each end at level 2
ROOM = 5120033876543210987

TEXTS = [
    "plain",
    "it's \"quoted\"",
    "new\nline\ttab\\ back",
    "ä€😀 \x00\x1b[31m \u2028 \u202e",
    "'",
    '"',
    "a ... b",
    "', text='fake', rid='x",
    "x" * 2048,
    "y" * 2049,
    "ö'\n" * 900,
    "😀" * 3000,
    "{'a': 1}",
    "]}), out={'text': 'no'}",
    " ",
    "café'\"mix",
    "tail\\",
]


class Mode(enum.IntEnum):
    OFF = 0


@dataclasses.dataclass
class GenerateReqInput:
    """The fields that matter, under the engine's class name."""

    text: typing.Any = None
    input_ids: typing.Any = None
    image_data: typing.Any = None
    sampling_params: typing.Any = None
    rid: typing.Any = None
    stream: bool = False
    return_hidden_states: typing.Any = Mode.OFF
    bootstrap_room: typing.Any = None
    no_logs: bool = False
    custom_labels: typing.Any = None
    received_time: float = 0.0


def wheel_files(folder):
    """The logging modules of the released wheel."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:",
         "--python-version", "3.11", "--platform", "manylinux_2_34_x86_64",
         "-d", str(folder), f"sglang=={VERSION}"],
        check=True,
    )
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        return {m: wheel.read(f"sglang/srt/utils/{m}.py").decode() for m in MODULES}


def module(name, **content):
    found = types.ModuleType(name)
    vars(found).update(content)
    sys.modules[name] = found
    return found


class Settings:
    """Stands for the environment settings: no extra headers, no slowness filter."""

    def __getattr__(self, name):
        value = [] if "HEADERS" in name else -1
        return types.SimpleNamespace(get=lambda: value)


def request_logger(sources):
    """The engine's logger class, its surroundings replaced by the least that it asks for."""
    for name in ("sglang", "sglang.srt", "sglang.srt.sampling", "sglang.srt.sampling.watermarking",
                 "sglang.srt.utils", "sglang.srt.managers", "torch"):
        module(name)
    module("sglang.srt.environ", envs=Settings())
    context = types.SimpleNamespace(is_config_namespace_published=lambda _: True)
    features = types.SimpleNamespace(enable_watermark=False)
    module("sglang.srt.runtime_context", get_context=lambda: context,
           get_exec=lambda: types.SimpleNamespace(features=features))
    module("sglang.srt.sampling.watermarking.core", WATERMARK_CONTAINER_FIELD_NAMES=set(),
           WATERMARK_SECRET_FIELD_NAMES=set(), redact_watermark_secrets=lambda data, **_: data)
    distributed = module("torch.distributed", is_initialized=lambda: False)
    sys.modules["torch"].distributed = distributed
    for name in MODULES:
        code = compile(sources[name], f"{name}.py", "exec")
        exec(code, vars(module(f"sglang.srt.utils.{name}")))
    return sys.modules["sglang.srt.utils.request_logger"].RequestLogger


def expected(text, level):
    """What a log of the level holds of a text, and how much that is."""
    if level < 2:
        return {"text": None, "state": "absent"}
    if level == 2 and len(text) > 2 * KEPT:
        return {"text": text[:KEPT] + "..." + text[-KEPT:], "state": "truncated"}
    return {"text": text, "state": "full"}


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    logger_class = request_logger(wheel_files(folder))
    request = types.SimpleNamespace(headers={"x-smg-routing-key": "acct-1"})
    with open(folder / "expected.jsonl", "w", encoding="utf-8") as out:
        for spelling in ("text", "json"):
            for level in range(4):
                target = folder / f"{spelling}-{level}"
                logger = logger_class(True, level, spelling, [str(target)])
                for i, prompt in enumerate(TEXTS):
                    answer, rid = TEXTS[-1 - i], f"{spelling}-{level}-{i}"
                    asked = GenerateReqInput(
                        text=prompt, input_ids=list(range(i * 200)), rid=rid,
                        sampling_params={"max_new_tokens": 5, "temperature": 1e-05, "stop": ["\n"]},
                        bootstrap_room=ROOM - i, custom_labels={"k'": prompt[:20]},
                        received_time=1789110603.5,
                    )
                    meta = {
                        "id": rid, "finish_reason": {"type": "stop", "matched": "'\""},
                        "prompt_tokens": 7, "completion_tokens": 3, "cached_tokens": 0,
                        "e2e_latency": 0.25, "input_token_logprobs": [(None, 1, None), (-0.5, 2, "a'")],
                        "spec_accept_rate": float("nan"), "queue_time": float("inf"),
                    }
                    answered = {"text": answer, "output_ids": [1, 2, 3], "meta_info": meta}
                    logger.log_finished_request(asked, answered, request if i % 2 else None)
                    row = {
                        "folder": target.name, "format": f"sglang_{spelling}", "rid": rid,
                        "room": str(ROOM - i), "prompt": expected(prompt, level),
                        "response": expected(answer, level),
                    }
                    out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
