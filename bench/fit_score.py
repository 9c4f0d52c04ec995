#!/usr/bin/env python3
"""Fits the points of queries/views/score_points.sql on audited sets of bench/leaks.py, or prints how well they do.

    bench/fit_score.py SET... [--write] [--prior 0.001] [--lookalike-weight 0.2] [--ridge 1]
                       [--false-alarms 0.001]

A SET is a folder of bench/leaks.py with its case in SET/case. Each row of the view leak_evidence (response x tenant) is
a sample: a leak where the label says so and names that tenant. A logistic regression on piecewise linear terms, with a
ridge on the steps between neighbouring knots, gives the log-odds; the intercept is moved from the share of leaks in the
sets to --prior, the share assumed in traffic of which nothing is known. Needs duckdb.
"""

import argparse
import json
import math
import pathlib

import duckdb

QUERIES = pathlib.Path(__file__).resolve().parent.parent / "queries"
# Knots of each term, in the unit of its column.
TERMS = {
    "span_microbits": [0, 20_000_000, 40_000_000, 60_000_000, 90_000_000, 140_000_000, 250_000_000, 600_000_000],
    "word_microbits": [0, 2_500_000, 4_000_000, 5_500_000, 7_500_000, 10_000_000],
    "mosaic_bits": [0, 25, 50, 100, 200],
    "fact_millibits": [0, 10_000, 30_000, 60_000, 100_000],
    "identifier_bits": [0, 20, 40, 80],
    "canary": [0, 1],
    "swap_steps": [0, 1, 2, 3, 4],
    "swap_steps_silent": [0, 1, 2, 3, 4],
    "fits_source": [0, 1],
    "similarity_permille": [0, 100, 300, 500, 1000],
    "memory": [0, 2],
    "source_astray": [0, 1],
}
# More evidence never counts for less, and the other way round.
RISING = {"span_microbits", "word_microbits", "mosaic_bits", "fact_millibits", "identifier_bits", "canary", "swap_steps",
          "fits_source", "swap_steps_silent", "memory"}
FALLING = {"similarity_permille", "source_astray"}
# What the sets can hardly teach is drawn towards a belief, in nats from the first knot to the last: nobody guesses a
# canary or a long token, equal questions get equal answers, and a source that itself answers somebody else's question
# took its text and did not give it. The steps of a swap are a chance already: one in 10,000 is 9 nats, of which a third
# is trusted, and a third more where the own prompt explains nothing.
BELIEFS = {"identifier_bits": 6.0, "canary": 12.0, "swap_steps": 3.0, "swap_steps_silent": 3.0,
           "similarity_permille": -6.0, "source_astray": -3.0}
# By judgement: what a known exposure adds to the log-odds of an answer, in thousandths of a nat. With one leak in 1,000
# answers at large, one in five likely exposed ones is taken for a leak, and one in two proven ones.
EXPOSURES = {"exposure_likely": 5500, "exposure_proven": 6900}


def needs_of(text):
    line = next((line for line in text.splitlines() if line.startswith("-- needs: ")), "")
    return [word.strip() for word in line.removeprefix("-- needs: ").split(",") if word.strip() not in ("", "-")]


def evidence(folder, name="leak_evidence"):
    """Rows of a view over the case of a set."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    done = set()

    def have(need):
        if need in done:
            return
        done.add(need)
        view = QUERIES / "views" / f"{need}.sql"
        if view.exists():
            text = view.read_text(encoding="utf-8")
            for inner in needs_of(text):
                have(inner)
        else:
            hive = "true, hive_types_autocast = false" if need == "exchanges" else "false"
            text = f"SELECT * FROM read_parquet('{folder}/case/tables/{need}/**/*.parquet', hive_partitioning = {hive})"
        connection.execute(f'CREATE VIEW "{need}" AS {text}')

    have(name)
    have("exchanges")
    columns = ", ".join(f"v.{term}" for term in TERMS)
    return connection.execute(
        f"SELECT e.request_id, v.source_tenant, {columns} FROM {name} v JOIN exchanges e ON e.exchange_id = v.exchange_id "
        "ORDER BY e.request_id, v.source_tenant").fetchall()


def basis(values):
    """For each knot but the first of each term, how far the value has come from the knot before, 0 to 1."""
    out = []
    for value, knots in zip(values, TERMS.values()):
        for low, high in zip(knots, knots[1:]):
            out.append(min(max((value - low) / (high - low), 0.0), 1.0))
    return out


class Samples:
    """Rows of all sets as samples, and counts of the responses behind them."""

    def __init__(self, folders, lookalike_weight):
        self.rows, self.negatives = [], []
        self.leaks = self.others = self.silent_leaks = self.silent_others = 0
        for folder in folders:
            self.read(pathlib.Path(folder), lookalike_weight)

    def read(self, folder, lookalike_weight):
        labels, seen = {}, set()
        with open(folder / "labels.jsonl", encoding="utf-8") as lines:
            for line in lines:
                label = json.loads(line)
                labels[label["request_id"]] = label
        for request, tenant, *values in evidence(folder):
            label = labels.get(request, {"label": "background"})["label"]
            leak = label == "leak"
            if leak and labels[request].get("source_tenant") != tenant:
                continue
            seen.add(request)
            self.rows.append((basis(values), 1.0 if leak else 0.0, lookalike_weight if label == "lookalike" else 1.0))
            if label in ("background", "benign"):
                self.negatives.append((request, self.rows[-1][0]))
        for log in sorted(folder.glob("logs/*.jsonl")):
            with open(log, encoding="utf-8") as lines:
                for line in lines:
                    request = json.loads(line)["request_id"]
                    label = labels.get(request, {"label": "background"})["label"]
                    if label == "leak":
                        self.leaks += 1
                        self.silent_leaks += request not in seen
                    elif label != "lookalike":
                        self.others += 1
                        self.silent_others += request not in seen


def solve(matrix, right):
    """Gaussian elimination; the matrix is small and positive definite."""
    n = len(right)
    rows = [matrix[i][:] + [right[i]] for i in range(n)]
    for i in range(n):
        best = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[best] = rows[best], rows[i]
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            if factor:
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    out = [0.0] * n
    for i in reversed(range(n)):
        out[i] = (rows[i][n] - sum(rows[i][j] * out[j] for j in range(i + 1, n))) / rows[i][i]
    return out


def fit(rows, ridge):
    """Newton's method; a step against the direction of its term is set to nothing and the rest fitted again."""
    drawn = [BELIEFS.get(term, 0.0) * (high - low) / (knots[-1] - knots[0])
             for term, knots in TERMS.items() for low, high in zip(knots, knots[1:])]
    signs = [(1 if term in RISING else -1 if term in FALLING else 0)
             for term, knots in TERMS.items() for _ in knots[1:]]
    free = list(range(len(signs)))
    while True:
        weights = newton([([b[i] for i in free], y, w) for b, y, w in rows], ridge, [drawn[i] for i in free])
        wrong = [i for i, value in zip(free, weights[1:]) if signs[i] * value < 0]
        if not wrong:
            steps = [0.0] * len(signs)
            for i, value in zip(free, weights[1:]):
                steps[i] = value
            return weights[0], steps
        free = [i for i in free if i not in wrong]


def newton(rows, ridge, drawn):
    n = len(rows[0][0]) + 1
    at = [0.0] + list(drawn)
    sparse = [([(0, 1.0)] + [(i + 1, v) for i, v in enumerate(b) if v], y, w) for b, y, w in rows]
    for _ in range(25):
        slope = [0.0] + [-ridge * (a - d) for a, d in zip(at[1:], drawn)]
        curve = [[ridge if i == j and i else 0.0 for j in range(n)] for i in range(n)]
        for row, y, w in sparse:
            z = max(-30.0, min(30.0, sum(at[i] * v for i, v in row)))
            p = 1 / (1 + math.exp(-z))
            gap, bend = w * (y - p), w * p * (1 - p)
            for i, v in row:
                slope[i] += gap * v
                held, scaled = curve[i], bend * v
                for j, u in row:
                    held[j] += scaled * u
        step = solve(curve, slope)
        at = [a + s for a, s in zip(at, step)]
        if max(map(abs, step)) < 1e-7:
            break
    return at


def logit(share):
    return math.log(share / (1 - share))


def points(samples, intercept, steps, prior, false_alarms):
    """Lines of score_points: term, from, to, milli-nats at `from`, and 1e-12 nats a unit from there on."""
    base = intercept + logit(prior) - logit(samples.leaks / (samples.leaks + samples.others))
    best = {}
    for request, row in samples.negatives:
        best[request] = max(best.get(request, -1e9), base + sum(s * v for s, v in zip(steps, row)))
    allowed = int(false_alarms * samples.others)
    cut = sorted(best.values(), reverse=True)[allowed]
    nothing = logit(prior) + math.log(samples.silent_leaks + 1) - math.log(samples.leaks) \
        - math.log(samples.silent_others / samples.others)
    lines = [("base", 0, 1, round(base * 1000), 0), ("prior", 0, 1, round(logit(prior) * 1000), 0),
             ("nothing", 0, 1, round(nothing * 1000), 0), ("cut", 0, 1, math.ceil(cut * 1000), 0)]
    lines += [(term, 0, 1, added, 0) for term, added in EXPOSURES.items()]
    at = 0
    for term, knots in TERMS.items():
        total = 0
        for low, high in zip(knots, knots[1:]):
            rise = round(steps[at] * 1000)
            at += 1
            lines.append((term, low, high, total, round(rise * 10**9 / (high - low))))
            total += rise
        lines.append((term, knots[-1], 2**62, total, 0))
    return lines


HEAD = """-- id: score_points
-- title: what each term of the evidence weighs, piecewise linear
-- needs: -
-- version: 1
-- why: written by `{command}`
--      over {leaks} planted leaks among {responses} responses, not by hand. An amount from low to
--      below high gives millinats + (amount - low) * piconats / 1e9 thousandths of a nat. prior:
--      any answer; nothing: one without evidence; cut: the sum from which foreign text counts
--      outside a known exposure ({false_alarms:g} of the answers without leak reach it there)
"""


def sql(lines, **facts):
    rows = []
    for number, (term, *numbers) in enumerate(lines):
        names = ("low", "high", "millinats", "piconats")
        cells = [f"'{term}' AS term"] + [f"CAST({n} AS BIGINT) AS {name}" for n, name in zip(numbers, names)]
        rows.append(("UNION ALL " if number else "") + "SELECT\n    " + ",\n    ".join(cells))
    return HEAD.format(**facts) + "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser(description="see the head of this file")
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--prior", type=float, default=0.001)
    parser.add_argument("--lookalike-weight", type=float, default=0.2)
    parser.add_argument("--ridge", type=float, default=1.0)
    parser.add_argument("--false-alarms", type=float, default=0.001)
    options = parser.parse_args()
    samples = Samples(options.sets, options.lookalike_weight)
    intercept, steps = fit(samples.rows, options.ridge)
    lines = points(samples, intercept, steps, options.prior, options.false_alarms)
    for line in lines:
        print(*line)
    if options.write:
        text = sql(lines, command=f"bench/fit_score.py {' '.join(pathlib.Path(s).name for s in options.sets)} --write",
                   leaks=samples.leaks, responses=samples.leaks + samples.others, false_alarms=options.false_alarms)
        (QUERIES / "views" / "score_points.sql").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
