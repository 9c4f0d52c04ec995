#!/usr/bin/env python3
"""Writes a log with planted leaks of every kind and look-alikes around them, and labels that say which is which.

    bench/leaks.py OUT [--n 10000] [--seed 1] [--rate 0.05] [--tenants 50] [--kinds a,b,...]

OUT/logs/*.jsonl (native format), OUT/pentimento.toml (no capacity: nothing counts as exposed, so that text stands on
its own) and OUT/labels.jsonl, one row a planted or look-alike response: request_id, kind, label (leak, benign,
lookalike), lang, tenant, source_tenant, source_request_id, field. A response without a row is plain background.

Only the standard library is used, also as text: functions and manual pages of Python itself are what real answers look
like (idioms, stock phrases, the same question asked in several languages and answered with the same code); business
letters and public events are rendered from records by patterns in seven languages, so that a translation that keeps
names and numbers is the same record in another language. Equal arguments and an equal Python give equal bytes.

Leaks: verbatim_prompt, verbatim_response, many_victims (one passage, five tenants, one of them twice), identifier,
swap_copy (another tenant's answer), swap_other (another answer to another tenant's question), reworded_drop (12 % of the
words gone or changed), reworded_order (pieces of 5 to 9 words in another order), translated (the records of a letter in
another language), in_reasoning, in_tool (arguments of a call, as JSON), case, spacing, escaped, template_tokens.
Benign: own_quote, own_memory, shared_template, public_text, same_question, retry, gateway_cache.
"""

import argparse
import ast
import collections
import datetime
import json
import pathlib
import random
import re
import sysconfig

from leak_texts import Letters, asked

LEAKS = (
    "verbatim_prompt verbatim_response many_victims identifier swap_copy swap_other reworded_drop reworded_order "
    "translated in_reasoning in_tool case spacing escaped template_tokens"
).split()
BENIGN = "own_quote own_memory shared_template public_text same_question retry gateway_cache".split()
START = datetime.datetime(2026, 3, 1, tzinfo=datetime.timezone.utc)
DAYS = 10
NODES = 4
MEMORY_MS = 20 * 3600 * 1000
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")


def words(text):
    return WORD.findall(text.casefold())


def weight(tokens):
    """Half-words: a word counts 2, a character of a script without spaces 1."""
    return sum(1 if len(t) == 1 and ord(t) > 0x2fff else 2 for t in tokens)


def windows(tokens, half_words=24):
    """Hashes of the runs that weigh so much."""
    size = half_words // 2 if weight(tokens) > 1.5 * len(tokens) else half_words
    return {hash(tuple(tokens[i:i + size])) for i in range(len(tokens) - size + 1)}


def library():
    """What the standard library holds: functions with a docstring (name, module, first sentence, docstring, source)
    and longer docstrings of modules and classes (name, paragraphs)."""
    root = pathlib.Path(sysconfig.get_path("stdlib"))
    skip = {"test", "idlelib", "lib2to3", "site-packages", "pydoc_data", "ensurepip"}
    functions, pages, seen = [], [], set()
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root)
        if skip & set(inside.parts) or len(inside.parts) > 3:
            continue
        try:
            source = path.read_text(encoding="utf-8")
            tree = ast.parse(source)
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        module = ".".join(inside.with_suffix("").parts)
        lines = source.splitlines()
        for node in ast.walk(tree):
            held = isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module))
            doc = ast.get_docstring(node) if held else None
            if not doc or doc in seen:
                continue
            seen.add(doc)
            if isinstance(node, ast.FunctionDef):
                if 6 <= node.end_lineno - node.lineno <= 60 and len(doc) > 20:
                    body = lines[node.lineno - 1:node.end_lineno]
                    cut = len(body[0]) - len(body[0].lstrip())
                    body = "\n".join(line[cut:] for line in body)
                    functions.append((node.name, module, " ".join(doc.split("\n\n")[0].split()), doc, body))
            elif len(doc) > 600:
                pages.append((getattr(node, "name", module), [p for p in doc.split("\n\n") if p.strip()][:8]))
    return functions, pages


def manual():
    """Paragraphs of Python's manual, by topic."""
    from pydoc_data import topics
    for name, text in sorted(topics.topics.items()):
        paragraphs = [p for p in text.split("\n\n") if len(p) > 80]
        for at in range(0, len(paragraphs) - 5, 6):
            yield name, paragraphs[at:at + 6]


class Topics:
    """Questions with several answers each, as several models would give them."""

    def __init__(self, rng):
        self.rng = rng
        self.letters = Letters(rng)
        functions, pages = library()
        self.real = [("code", f) for f in functions] + [("page", p) for p in pages + list(manual())]
        rng.shuffle(self.real)

    def make(self, count):
        """So many topics: half from the library, a sixth public events that many ask for, and letters."""
        topics = [getattr(self, shape)(about) for shape, about in self.real[:count // 2]]
        events = [dict(shape="event", records=self.letters.event(), subject=None) for _ in range(1 + count // 100)]
        topics += [self.rng.choice(events) for _ in range(count // 6)]
        topics += [self.letter() for _ in range(count - len(topics))]
        self.rng.shuffle(topics)
        return topics

    def code(self, function):
        name, module, first, doc, source = function
        bare = re.sub(r'\n\s*[rR]?"""(?s:.*?)"""', "", source, count=1)
        plain = "\n".join(line for line in source.split("\n") if not line.lstrip().startswith("#"))
        forms = [source, bare, plain, source.split("\n\n")[0]]
        return dict(
            subject=dict(name=name, module=module, first=first), shape="code",
            forms=forms, notes=[doc, first, f"It belongs to {module}.", ""],
        )

    def page(self, page):
        name, paragraphs = page
        cuts = [paragraphs[:3], paragraphs[1:4], paragraphs[:2], paragraphs[2:6]]
        return dict(
            subject=dict(name=name, module="the language", first=" ".join(paragraphs[0].split()[:9])), shape="page",
            forms=["\n\n".join(cut) for cut in cuts], notes=["", "In short:", "The manual says:", ""],
        )

    def letter(self):
        lang, records = self.letters.lang(), self.letters.records()
        return dict(shape="letter", lang=lang, records=records, subject=None)

    def exchange(self, topic):
        """A prompt and an answer about a topic: language, prompt, answer, and what else could be answered."""
        rng = self.rng
        if topic["shape"] == "letter":
            lang, records = topic["lang"], topic["records"]
            return lang, self.letters.prompt(lang, records), self.letters.answer(lang, records)
        lang = rng.choices(("en", "de", "fr", "es", "ru", "zh", "ja"), (8, 2, 2, 2, 1, 1, 1))[0]
        if topic["shape"] == "event":
            return lang, *self.letters.public(lang, topic["records"])
        at = rng.randrange(4)
        form, note = topic["forms"][at], rng.choice(topic["notes"])
        text = f"```python\n{form}\n```" if topic["shape"] == "code" else form
        start, end = asked(rng, lang, "intro"), asked(rng, lang, "outro")
        answer = "\n\n".join(part for part in (start, text, note, end if rng.random() < 0.4 else "") if part)
        prompt = asked(rng, lang, topic["shape"]).format(**topic["subject"])
        if rng.random() < 0.25:
            # A second turn: what was said before stands in the prompt.
            prompt = f"user: {prompt}\nassistant: {start}\n{rng.choice(topic['forms'])}\nuser: {asked(rng, lang, 'again')}"
        return lang, prompt, answer


def piece(rng, text, least, most):
    """A run of so many words of a text, with what stands between them."""
    spans = [m.span() for m in re.finditer(r"\S+", text)]
    if len(WORD.findall(text)) > 3 * len(spans):
        spans = [(i, i + 1) for i, c in enumerate(text) if not c.isspace()]
        least, most = 2 * least, 2 * most
    if len(spans) < least:
        return None
    size = rng.randint(least, min(most, len(spans)))
    at = rng.randint(0, len(spans) - size)
    return text[spans[at][0]:spans[at + size - 1][1]]


def put(rng, host, text):
    """The text between two words of the host."""
    gaps = [m.start() for m in re.finditer(r"\s", host)] or [len(host)]
    at = rng.choice(gaps)
    return f"{host[:at]} {text} {host[at:]}"


def identifier(rng):
    upper = "ABCDEFGHJKLMNPRSTUVWXYZ23456789"
    some = lambda n: "".join(rng.choice(upper) for _ in range(n))
    return rng.choice((
        lambda: f"sk-{some(24).lower()}", lambda: f"{some(5).lower()}.{some(7).lower()}@{some(6).lower()}.example",
        lambda: "-".join(f"{rng.getrandbits(32):08x}" for _ in range(4)), lambda: f"INV-{some(4)}-{some(8)}",
        lambda: f"https://{some(6).lower()}.example/d/{some(16)}", lambda: some(17),
    ))()


def dropped(rng, text):
    out = []
    for word in text.split(" "):
        luck = rng.random()
        if luck < 0.06:
            continue
        out.append(rng.choice(("that", "such", "some", "also", "then")) if luck < 0.12 else word)
    return " ".join(out)


def reordered(rng, text):
    parts, rest = [], text.split()
    while rest:
        size = rng.randint(5, 9)
        parts.append(" ".join(rest[:size]))
        rest = rest[size:]
    rng.shuffle(parts)
    return "; ".join(parts)


def spaced(rng, text):
    return "".join(rng.choice(("  ", "\n", "\u00a0", "\t", " \n ")) if c == " " else c for c in text)


def escaped(rng, text):
    return rng.choice((
        lambda t: json.dumps(t), lambda t: t.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;"),
        lambda t: t.replace(" ", "\\n", 3).replace('"', '\\"'), lambda t: "> " + t.replace("\n", "\n> "),
    ))(text)


def with_tokens(rng, text):
    cut = len(text) // 2
    return rng.choice((
        f"<|im_end|>\n<|im_start|>user\n{text}<|im_end|>", f"[gMASK]<sop><|user|>\n{text}<|assistant|>",
        f"</s>[INST] {text} [/INST]", f"{text[:cut]}<|endoftext|>{text[cut:]}",
    ))


CHANGES = dict(case=lambda rng, t: rng.choice((t.upper(), t.lower(), t.title())), spacing=spaced, escaped=escaped,
               template_tokens=with_tokens, reworded_drop=dropped, reworded_order=reordered)


class Log:
    """Exchanges in time, and what is planted into them."""

    def __init__(self, options):
        self.rng = random.Random(options.seed)
        self.options = options
        self.topics = Topics(self.rng)
        self.names = [f"customer-{i:02d}" for i in range(options.tenants)]
        self.shares = [1 / (i + 1) ** 0.7 for i in range(options.tenants)]
        self.templates = [self.topics.letters.house_rules() for _ in range(5)]
        self.labels, self.more, self.busy = [], [], set()
        self.fill()
        self.index()

    def fill(self):
        rng, n = self.rng, self.options.n
        topics = self.topics.make(n * 9 // 10)
        rows = []
        for i in range(n):
            # One in ten asks what somebody asks too; a letter belongs to one tenant.
            topic = topics[i] if i < len(topics) else rng.choice(topics)
            if topic["shape"] == "letter":
                tenant = topic.setdefault("tenant", self.tenant())
            else:
                tenant = self.tenant()
            lang, prompt, answer = self.topics.exchange(topic)
            rows.append(dict(
                request_id="", tenant=tenant, topic=topic, lang=lang, prompt=prompt, response=answer, reasoning=None,
                tool=None, system=rng.choice(self.templates) if rng.random() < 0.3 else None,
                node=f"node-{rng.randrange(NODES)}", at=rng.randrange(DAYS * 86_400_000), cache_hit=False))
        rows.sort(key=lambda r: r["at"])
        for i, row in enumerate(rows):
            row["request_id"] = f"q{self.options.seed}-{i:06d}"
            row["number"] = i
        self.rows = rows

    def tenant(self, but=None):
        while True:
            name = self.rng.choices(self.names, self.shares)[0]
            if name != but:
                return name

    def index(self):
        """Which tenants hold a run of twelve words, before anything is planted."""
        self.holders = {}
        for row in self.rows:
            for text in (row["system"], row["prompt"], row["response"]):
                for window in windows(words(text or "")):
                    if self.holders.setdefault(window, row["tenant"]) != row["tenant"]:
                        self.holders[window] = None

    def source(self, row, same=False, test=lambda source: True):
        """An earlier exchange, mostly on the same node: that is where stale memory comes from."""
        for _ in range(300):
            other = self.rows[self.rng.randrange(row["number"])] if row["number"] else row
            if row["at"] - other["at"] > MEMORY_MS or other["number"] in self.busy or other is row:
                continue
            if (other["tenant"] == row["tenant"]) != same or other["topic"] is row["topic"] or not test(other):
                continue
            if other["node"] != row["node"] and self.rng.random() < 0.8:
                continue
            return other
        return None

    def secret(self, text, tenant, least=12, most=150):
        for _ in range(12):
            run = piece(self.rng, text, least, most)
            tokens = words(run or "")
            found = windows(tokens)
            if found and all(self.holders.get(w) == tenant for w in found):
                return run
        return None

    def plant(self, kind, row):
        make = getattr(self, f"plant_{kind}", None) or self.plant_changed
        done = make(kind, row)
        if not done:
            return False
        source, field = done
        self.busy.add(row["number"])
        self.label(row, kind, source, field)
        return True

    def label(self, row, kind, source, field="response"):
        label = dict(request_id=row["request_id"], kind=kind, label="leak" if kind in LEAKS else "benign",
                     lang=row["lang"], tenant=row["tenant"], field=field)
        if source is not None:
            self.busy.add(source["number"])
            label.update(source_tenant=source["tenant"], source_request_id=source["request_id"])
        self.labels.append(label)

    def passage(self, row, side=None, least=12):
        source = self.source(row)
        side = side or self.rng.choice(("prompt", "response"))
        run = self.secret(source[side], source["tenant"], least) if source else None
        return source, run

    def plant_verbatim_prompt(self, kind, row):
        source, run = self.passage(row, kind.split("_")[1])
        if run:
            row["response"] = put(self.rng, row["response"], run)
            return source, "response"

    plant_verbatim_response = plant_verbatim_prompt

    def plant_changed(self, kind, row):
        source, run = self.passage(row, least=30 if kind.startswith("reworded") else 16)
        if run:
            row["response"] = put(self.rng, row["response"], CHANGES[kind](self.rng, run))
            return source, "response"

    def plant_in_reasoning(self, kind, row):
        source, run = self.passage(row)
        if run:
            row["reasoning"] = put(self.rng, asked(self.rng, row["lang"], "think"), run)
            return source, "reasoning"

    def plant_in_tool(self, kind, row):
        source, run = self.passage(row)
        if run:
            row["tool"] = "lookup\n" + json.dumps({"query": run, "limit": 5}, ensure_ascii=False)
            return source, "tool"

    def plant_many_victims(self, kind, row):
        source, run = self.passage(row, "prompt")
        if not run:
            return None
        victims = []
        for other in self.rows[row["number"] + 1:row["number"] + 400]:
            apart = {source["tenant"], row["tenant"], *(v["tenant"] for v in victims)}
            if other["node"] == row["node"] and other["tenant"] not in apart and other["number"] not in self.busy:
                victims.append(other)
            if len(victims) == 4:
                break
        for victim in victims:
            victim["response"] = put(self.rng, victim["response"], run)
            self.busy.add(victim["number"])
            self.label(victim, kind, source)
        row["response"] = put(self.rng, row["response"], run)
        self.label(self.copy(row, "again", row["tenant"], 30_000), kind, source)
        return source, "response"

    def plant_identifier(self, kind, row):
        source = self.source(row)
        if source:
            value = identifier(self.rng)
            source["prompt"] = put(self.rng, source["prompt"], value)
            row["response"] = put(self.rng, row["response"], value)
            return source, "response"

    def plant_swap_copy(self, kind, row):
        source = self.source(row, test=lambda s: len(words(s["response"])) >= 30 and self.alone(s["response"], s))
        if source:
            row["response"] = source["response"]
            return source, "response"

    def plant_swap_other(self, kind, row):
        source = self.source(row, test=lambda s: s["topic"]["shape"] == "letter")
        for _ in range(8 if source else 0):
            _, _, answer = self.topics.exchange(source["topic"])
            if answer != source["response"]:
                row["response"] = answer
                return source, "response"

    def plant_translated(self, kind, row):
        source = self.source(row, test=lambda s: s["topic"]["shape"] == "letter")
        if source:
            lang = self.topics.letters.lang(but=source["topic"]["lang"])
            row["response"] = put(self.rng, row["response"], self.topics.letters.body(lang, source["topic"]["records"]))
            return source, "response"

    def alone(self, text, row):
        return all(self.holders.get(w) == row["tenant"] for w in windows(words(text)))

    def copy(self, row, name, tenant, later_ms, **more):
        twin = dict(row, request_id=f"{row['request_id']}-{name}", tenant=tenant, at=row["at"] + later_ms, **more)
        self.more.append(twin)
        return twin

    def plant_own_quote(self, kind, row):
        run = piece(self.rng, row["prompt"], 12, 100)
        if run:
            row["response"] = put(self.rng, row["response"], run)
            return None, "response"

    def plant_own_memory(self, kind, row):
        source = self.source(row, same=True)
        run = piece(self.rng, source["prompt"], 12, 100) if source else None
        if run:
            row["response"] = put(self.rng, row["response"], run)
            return source, "response"

    def plant_shared_template(self, kind, row):
        row["system"] = self.rng.choice(self.templates)
        row["response"] = put(self.rng, row["response"], piece(self.rng, row["system"], 12, 60))
        return None, "response"

    def plant_public_text(self, kind, row):
        public = self.topics.letters.body("en", self.topics.letters.records(6))
        others = [other for other in (self.source(row) for _ in range(5)) if other]
        run = piece(self.rng, public, 12, 50)
        if len({other["tenant"] for other in others}) < 2 or not run:
            return None
        for other in others + [row]:
            other["prompt"] += "\n\n" + public
            self.busy.add(other["number"])
        row["response"] = put(self.rng, row["response"], run)
        return None, "response"

    def twin(self, kind, row, name, tenant, later_ms, **more):
        made = self.copy(row, name, tenant, later_ms, **more)
        self.busy.add(row["number"])
        self.label(made, kind, row)

    def plant_same_question(self, kind, row):
        if row["topic"]["shape"] != "letter":
            _, _, answer = self.topics.exchange(row["topic"])
            self.twin(kind, row, "b", self.tenant(row["tenant"]), self.rng.randint(60_000, 36_000_000), response=answer)

    def plant_retry(self, kind, row):
        self.twin(kind, row, "r", row["tenant"], self.rng.randint(2_000, 40_000))

    def plant_gateway_cache(self, kind, row):
        self.twin(kind, row, "c", self.tenant(row["tenant"]), self.rng.randint(60_000, 3_600_000), cache_hit=True)

    def plant_all(self, kinds):
        want = int(self.options.n * self.options.rate / max(1, len(kinds)))
        free = list(range(self.options.n // 20, self.options.n))
        self.rng.shuffle(free)
        left = {kind: want // (6 if kind == "many_victims" else 1) for kind in kinds}
        tries = 20 * self.options.n
        while any(left.values()) and free and tries:
            tries -= 1
            kind = self.rng.choice([k for k in kinds if left[k]])
            row = self.rows[free.pop()]
            if row["number"] in self.busy:
                continue
            before = len(self.labels)
            self.plant(kind, row)
            if len(self.labels) > before:
                left[kind] -= 1

    def lookalikes(self):
        """Background answers that share twelve words with another tenant by nature."""
        labelled = {label["request_id"] for label in self.labels}
        for row in self.rows:
            if row["request_id"] in labelled:
                continue
            own = windows(words((row["system"] or "") + "\n" + row["prompt"]))
            found = windows(words(row["response"]))
            if any(w not in own and self.holders.get(w, row["tenant"]) != row["tenant"] for w in found):
                self.labels.append(dict(request_id=row["request_id"], kind="lookalike", label="lookalike",
                                        lang=row["lang"], tenant=row["tenant"], field="response"))

    def write(self, out):
        rows = sorted(self.rows + self.more, key=lambda r: (r["at"], r["request_id"]))
        (out / "logs").mkdir(parents=True, exist_ok=True)
        (out / "pentimento.toml").write_text('[[deployment]]\nname = "bench"\n')
        files = 3
        for part in range(files):
            with open(out / "logs" / f"part-{part}.jsonl", "w", encoding="utf-8") as log:
                for row in rows[part * len(rows) // files:(part + 1) * len(rows) // files]:
                    log.write(json.dumps(self.record(row), ensure_ascii=False) + "\n")
        with open(out / "labels.jsonl", "w", encoding="utf-8") as labels:
            for label in sorted(self.labels, key=lambda l: l["request_id"]):
                labels.write(json.dumps(label, ensure_ascii=False) + "\n")
        kinds = collections.Counter(label["kind"] for label in self.labels)
        print(json.dumps(dict(exchanges=len(rows), planted=dict(sorted(kinds.items())))))

    @staticmethod
    def record(row):
        stamp = lambda ms: (START + datetime.timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        messages = [dict(role="system", content=row["system"])] if row["system"] else []
        messages.append(dict(role="user", content=row["prompt"]))
        asked_words, said = sum(len(words(m["content"])) for m in messages), len(words(row["response"]))
        first = row["at"] + 150 + asked_words // 8
        record = dict(
            request_id=row["request_id"], tenant=row["tenant"], model="bench-1", deployment="bench", node=row["node"],
            t_start=stamp(row["at"]), t_first_token=stamp(first), t_end=stamp(first + said * 15), http_status=200,
            finish_reason="stop", prompt_tokens=asked_words, completion_tokens=said, cached_tokens=0,
            cache_hit=row["cache_hit"], messages=messages, response=row["response"])
        record.update({key: row[key] for key in ("reasoning", "tool") if row[key]})
        return record


def main():
    parser = argparse.ArgumentParser(description="see the head of this file")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--n", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--tenants", type=int, default=50)
    parser.add_argument("--kinds", default=",".join(LEAKS + BENIGN))
    options = parser.parse_args()
    kinds = [kind for kind in options.kinds.split(",") if kind]
    if not set(kinds) <= set(LEAKS + BENIGN):
        parser.error(f"kinds are {LEAKS + BENIGN}")
    log = Log(options)
    log.lookalikes()
    natural = log.labels
    log.labels = []
    log.plant_all(kinds)
    planted = {label["request_id"] for label in log.labels}
    log.labels += [label for label in natural if label["request_id"] not in planted]
    log.write(options.out)


if __name__ == "__main__":
    main()
