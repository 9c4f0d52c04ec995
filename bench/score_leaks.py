#!/usr/bin/env python3
"""Scores audited sets of bench/leaks.py: what is found by kind and language, and how often the rest is flagged.

    bench/score_leaks.py SET... [--json]

Found is a verdict of confirmed or probable for the response of the label, attributed one that names the right tenant. A
false alarm is such a verdict on a background or benign response; look-alikes stand apart. `verdicts.score` ranks the
responses: recall at a rate of false alarms counts the leaks that rank above what the rate allows. Needs duckdb.
"""

import argparse
import collections
import json
import pathlib

import duckdb

RATES = (0.001, 0.0005, 0.0001)


def read(folder):
    """Per request the best verdict: flagged, source tenant, score; and the labels."""
    verdicts = {}
    rows = duckdb.connect().execute(
        "SELECT request_id, grade, source_tenant, COALESCE(score, 0) FROM "
        f"read_parquet('{folder}/case/tables/verdicts/**/*.parquet') ORDER BY request_id, exchange_id").fetchall()
    for request, grade, tenant, score in rows:
        flagged = grade in ("confirmed", "probable")
        before = verdicts.get(request, (False, None, 0.0))
        verdicts[request] = (flagged or before[0], tenant if flagged else before[1], max(score, before[2]))
    labels = {}
    with open(folder / "labels.jsonl", encoding="utf-8") as lines:
        for line in lines:
            label = json.loads(line)
            labels[label["request_id"]] = label
    return verdicts, labels


class Tally:
    """Counts over all sets."""

    def __init__(self):
        self.kinds = collections.defaultdict(collections.Counter)
        self.languages = collections.defaultdict(collections.Counter)
        self.leaks, self.others = [], []

    def add(self, verdicts, labels):
        for request, (flagged, tenant, score) in verdicts.items():
            label = labels.get(request, {"kind": "background", "label": "background"})
            kind = self.kinds[(label["label"], label["kind"])]
            kind["n"] += 1
            kind["flagged"] += flagged
            if label["label"] == "leak":
                kind["attributed"] += flagged and tenant == label.get("source_tenant")
                self.languages[label["lang"]]["n"] += 1
                self.languages[label["lang"]]["flagged"] += flagged
                self.leaks.append((score, flagged))
            elif label["label"] != "lookalike":
                self.others.append((score, flagged))

    def result(self):
        others = sorted((score for score, _ in self.others), reverse=True)
        above = {rate: others[int(rate * len(others))] for rate in RATES}
        return dict(
            kinds={f"{label} {kind}": dict(row) for (label, kind), row in sorted(self.kinds.items())},
            languages={lang: dict(row) for lang, row in sorted(self.languages.items())},
            recall=share(flagged for _, flagged in self.leaks),
            false_alarms=share(flagged for _, flagged in self.others),
            recall_at={rate: share(score > cut for score, _ in self.leaks) for rate, cut in above.items()},
        )


def share(values):
    values = list(values)
    return round(sum(values) / max(1, len(values)), 5)


def main():
    parser = argparse.ArgumentParser(description="see the head of this file")
    parser.add_argument("sets", nargs="+", type=pathlib.Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    tally = Tally()
    for folder in options.sets:
        tally.add(*read(folder))
    result = tally.result()
    if options.json:
        print(json.dumps(result))
        return
    for name in ("kinds", "languages"):
        for key, row in result[name].items():
            print(f"{key:28} {row.get('flagged', 0):5} of {row['n']:5}   attributed {row.get('attributed', 0)}")
        print()
    print(f"recall {result['recall']}, false alarms {result['false_alarms']}")
    for rate, recall in result["recall_at"].items():
        print(f"recall at {rate:g} false alarms: {recall}")


if __name__ == "__main__":
    main()
