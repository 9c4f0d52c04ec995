#!/usr/bin/env python3
"""Writes a log in the native format with planted foreign text, and labels that say where it is.

    generate.py LOG LABELS --bytes 100e6 [--seed 1]

Equal arguments give equal bytes. Only the standard library is used. Texts are random runs of 2 to 5 words
of one invented book, so that pairs and triples of words repeat as in real text while twelve equal words in
two places are planted. Around the plants lies what makes a search costly or wrong: shared system prompts,
public documents that many tenants paste, conversations that return in every turn, answers that quote their
own prompt, and a few prompts longer than the KV pool of POOL tokens, which are the suspects.

A label is one JSON object a line: the planted run in words and in bytes of the response, and its source.
"""

import argparse
import bisect
import json
import random

POOL = 600_000
TOKENS_PER_WORD = 1.33
LEAST_LEAK_WORDS = 12
BOOK_WORDS = 1_500_000
KEPT_SOURCES = 2_000
START_MS = 1_764_000_000_000


class Book:
    """The source of all running text."""

    def __init__(self, rng):
        vocabulary = self.vocabulary(rng, 40_000)
        weights = [1 / (rank + 3) for rank in range(len(vocabulary))]
        ends = [". ", ", ", ".\n", " ", "? ", ' "', '" ']
        self.pieces = []
        self.starts = [0]
        for word in rng.choices(vocabulary, weights, k=BOOK_WORDS):
            gap = rng.choice(ends) if rng.random() < 0.16 else " "
            # A word keeps its own end, so that words are what stands between blanks.
            self.pieces.append(word + gap if gap.strip() == "" else word + gap.strip() + " ")
        for piece in self.pieces:
            self.starts.append(self.starts[-1] + len(piece))
        self.text = "".join(self.pieces)
        self.rng = rng

    @staticmethod
    def vocabulary(rng, size):
        onsets = "b c d f g h j k l m n p r s t v w br ch cl dr fl gr pl pr sh st th tr".split()
        vowels = "a e i o u ai ea ee ie oo ou".split()
        codas = ["", "", "l", "m", "n", "nd", "r", "rt", "s", "st", "t"]
        words = {}
        while len(words) < size:
            length = rng.choice((1, 1, 2, 2, 2, 3, 4))
            parts = (rng.choice(onsets) + rng.choice(vowels) + rng.choice(codas) for _ in range(length))
            words["".join(parts)] = None
        return sorted(words, key=lambda w: (len(w), w))

    def words(self, count):
        """A text of so many words, each with one blank behind it."""
        out = []
        rng, starts, text = self.rng, self.starts, self.text
        while count > 0:
            length = min(count, rng.randrange(2, 6))
            first = rng.randrange(BOOK_WORDS - 8)
            out.append(text[starts[first]:starts[first + length]])
            count -= length
        return "".join(out)


class Answer:
    """A response under construction, with the places of what was planted in it."""

    def __init__(self):
        self.parts = []
        self.word_count = 0
        self.byte_count = 0
        self.plants = []

    def add(self, text):
        self.parts.append(text)
        self.word_count += text.count(" ") + text.count("\n")
        self.byte_count += len(text.encode())

    def plant(self, kind, words, source=None):
        place = {"kind": kind, "pos": self.word_count, "len": len(words), "start": self.byte_count}
        self.add(" ".join(words) + " ")
        place["end"] = self.byte_count - 1
        if source:
            place["source_request"], place["source_tenant"] = source["request_id"], source["tenant"]
        self.plants.append(place)


class World:
    """Tenants and what they have said so far."""

    def __init__(self, rng, size):
        self.rng = rng
        self.book = Book(rng)
        self.tenant_count = max(50, int(200 * (size / 100e6) ** 0.5))
        total, self.shares = 0, []
        for rank in range(1, self.tenant_count + 1):
            total += rank ** -1.1
            self.shares.append(total)
        self.systems = [self.book.words(rng.randrange(100, 800)) for _ in range(8)]
        self.public = [self.book.words(rng.randrange(200, 1500)) for _ in range(20)]
        self.own_system = {}
        self.talks = {}
        self.sources = []

    def tenant(self):
        return bisect.bisect(self.shares, self.rng.random() * self.shares[-1])

    def system_of(self, tenant):
        if tenant not in self.own_system:
            shared = self.rng.choice(self.systems) if self.rng.random() < 0.8 else ""
            own = self.book.words(self.rng.randrange(50, 500)) if self.rng.random() < 0.5 else ""
            self.own_system[tenant] = shared + own
        return self.own_system[tenant]

    def prompt(self, tenant, huge):
        """What is not the tenant's own alone, and what is."""
        rng = self.rng
        if huge:
            return "", self.book.words(rng.randrange(700_000, 900_000))
        talk = self.talks.get(tenant, "")
        old = talk if talk and rng.random() < 0.35 else ""
        new = self.book.words(int(min(7000, max(50, rng.lognormvariate(6.2, 1.1)))))
        if rng.random() < 0.06:
            old += rng.choice(self.public)
        return old, new

    def answer(self, tenant, prompt, huge):
        rng, answer, words = self.rng, Answer(), self.book.words
        length = rng.randrange(1500, 4000) if huge else int(min(1500, max(20, rng.lognormvariate(5, 0.9))))
        answer.add(words(length // 2 + 5))
        if rng.random() < 0.6:
            own = prompt[:60_000].split()
            for _ in range(rng.randrange(1, 5)):
                answer.plant("own", some(rng, own, rng.randrange(5, 120)))
                answer.add(words(rng.randrange(3, 30)))
        if rng.random() < 0.05:
            answer.plant("public", some(rng, rng.choice(self.public).split(), rng.randrange(12, 100)))
            answer.add(words(7))
        if self.sources and (huge or rng.random() < 0.03):
            for _ in range(rng.randrange(2, 7) if huge else rng.randrange(1, 4)):
                self.leak(tenant, answer)
        answer.add(words(length // 2 + 5))
        return answer

    def leak(self, tenant, answer):
        rng = self.rng
        others = [s for s in (rng.choice(self.sources) for _ in range(20)) if s["tenant"] != name(tenant)]
        if others:
            run = some(rng, others[0]["text"].split(), round(2 ** rng.uniform(3, 7.6)))
            answer.add(self.book.words(rng.randrange(3, 30)))
            answer.plant("leak" if len(run) >= LEAST_LEAK_WORDS else "short", run, others[0])
            answer.add(self.book.words(5))

    def remember(self, record, tenant, talk, new):
        if len(talk) < 40_000:
            self.talks[tenant] = talk
        source = {"request_id": record["request_id"], "tenant": record["tenant"], "text": new[:40_000]}
        source["text"] = source["text"][:source["text"].rfind(" ")]
        if len(self.sources) < KEPT_SOURCES:
            self.sources.append(source)
        else:
            self.sources[self.rng.randrange(KEPT_SOURCES)] = source


def some(rng, words, count):
    count = min(count, len(words))
    first = rng.randrange(len(words) - count + 1)
    return words[first:first + count]


def name(tenant):
    return f"tenant-{tenant:05d}"


def iso(ms):
    seconds, rest = divmod(ms, 1000)
    days, seconds = divmod(seconds, 86_400)
    # Days to a civil date; see Howard Hinnant, chrono-compatible low-level date algorithms.
    days += 719_468
    era, day = divmod(days, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day += 1 - (153 * month + 2) // 5
    month += 3 if month < 10 else -9
    year += era * 400 + (month <= 2)
    hour, minute = divmod(seconds // 60, 60)
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{seconds % 60:02d}.{rest:03d}Z"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    parser.add_argument("labels")
    parser.add_argument("--bytes", type=float, default=100e6)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    world = World(rng, options.bytes)
    written = huge_bytes = number = 0
    clock = START_MS
    with open(options.log, "w", buffering=1 << 22) as log, open(options.labels, "w") as labels:
        while written < options.bytes:
            tenant = world.tenant()
            clock += int(rng.expovariate(1 / 400)) + 1
            huge = number > 200 and huge_bytes < 0.15 * written and written < 0.93 * options.bytes
            old, new = world.prompt(tenant, huge)
            prompt = world.system_of(tenant) + old + new
            prompt_tokens = int((prompt.count(" ") + prompt.count("\n")) * TOKENS_PER_WORD)
            status = 200
            if huge:
                huge_bytes += len(new)
                status = 413 if rng.random() < 0.25 else 200
            elif rng.random() < 0.02:
                status = rng.choice((400, 429, 500))
            answer = world.answer(tenant, prompt, huge) if status == 200 else Answer()
            response = "".join(answer.parts)
            record = {
                "request_id": f"req-{number:09d}", "timestamp": clock, "t_start": iso(clock),
                "t_end": iso(clock + 500 + answer.word_count * 20), "tenant": name(tenant),
                "model": f"m{number % 3}", "node": f"n{number % 4}", "status": status,
                "http_status": status, "prompt_tokens": prompt_tokens,
                "completion_tokens": int(answer.word_count * TOKENS_PER_WORD),
                "prompt": prompt, "response": response,
            }
            for plant in answer.plants:
                suspect = status == 200 and prompt_tokens > POOL
                label = {"request_id": record["request_id"], "tenant": record["tenant"], "suspect": suspect}
                labels.write(json.dumps(label | plant) + "\n")
            line = json.dumps(record, ensure_ascii=False) + "\n"
            log.write(line)
            written += len(line)
            world.remember(record, tenant, "" if huge else old + new + response, new)
            number += 1


if __name__ == "__main__":
    main()
