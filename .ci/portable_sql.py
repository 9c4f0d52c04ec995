#!/usr/bin/env python3
"""Runs every shipped SQL file over a case in DuckDB and in pentimento, and compares the rows.

usage: portable_sql.py CASE [PENTIMENTO]

CASE is a finished case folder, PENTIMENTO the program (default: target/debug/pentimento).
Exit 0: all equal. Exit 1: a file differs or fails. Needs: pip install duckdb.
"""

import datetime
import json
import pathlib
import subprocess
import sys

import duckdb

QUERIES = pathlib.Path(__file__).resolve().parent.parent / "queries"
TABLES = [
    "exchanges", "sources", "rejects", "capacity", "engine_events", "overlaps", "identifiers",
    "second_hand", "fact_overlaps", "duplicates",
    "attributions", "text_health", "phases", "early_signs", "findings", "verdicts",
]


def needs_of(text):
    for line in text.splitlines():
        if line.startswith("-- needs: "):
            return [word.strip() for word in line[len("-- needs: "):].split(",")]
    return []


def view_order(needs, views, done):
    """Views below `needs`, inner ones first."""
    for need in needs:
        if need in views and need not in done:
            view_order(needs_of(views[need]), views, done)
            done.append(need)
    return done


def plain(value):
    """One spelling for both engines: times as microseconds UTC, numbers as numbers."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=datetime.timezone.utc)
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        return (value - epoch) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str) and len(value) >= 20 and value[10] == "T" and value.endswith("Z"):
        head, _, fraction = value[:-1].partition(".")
        try:
            moment = datetime.datetime.strptime(head, "%Y-%m-%dT%H:%M:%S")
        except ValueError:
            return value
        return plain(moment) + int((fraction + "000000")[:6])
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def in_duckdb(connection, sql):
    cursor = connection.execute(sql)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, map(plain, row))) for row in cursor.fetchall()]


def in_pentimento(program, case, path):
    done = subprocess.run(
        [program, "sql", "--case", case, "-f", str(path), "--format", "jsonl"],
        check=True, capture_output=True, text=True, encoding="utf-8",
    )
    return [
        {key: plain(value) for key, value in json.loads(line).items()}
        for line in done.stdout.split("\n") if line
    ]


def connect(case, views):
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for table in TABLES:
        pattern = f"{case}/tables/{table}/**/*.parquet".replace("'", "''")
        hive = ", hive_partitioning = true, hive_types_autocast = false"
        options = hive if table == "exchanges" else ", hive_partitioning = false"
        connection.execute(
            f'CREATE VIEW "{table}" AS SELECT * FROM '
            f"read_parquet('{pattern}'{options})"
        )
    for name in view_order(sorted(views), views, []):
        connection.execute(f"CREATE VIEW {name} AS {views[name]}")
    return connection


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    case = sys.argv[1]
    program = sys.argv[2] if len(sys.argv) > 2 else "target/debug/pentimento"
    views = {p.stem: p.read_text(encoding="utf-8") for p in (QUERIES / "views").glob("*.sql")}
    connection = connect(case, views)
    failed = 0
    for path in sorted(QUERIES.rglob("*.sql")):
        name = path.relative_to(QUERIES)
        try:
            theirs = in_duckdb(connection, path.read_text(encoding="utf-8"))
            ours = in_pentimento(program, case, path)
        except (duckdb.Error, subprocess.CalledProcessError) as error:
            failed += 1
            print(f"{name}: fails: {getattr(error, 'stderr', None) or error}")
            continue
        if path.parent.name == "views":
            # Views promise no order.
            theirs.sort(key=lambda row: json.dumps(row, sort_keys=True))
            ours.sort(key=lambda row: json.dumps(row, sort_keys=True))
        if theirs == ours:
            print(f"{name}: {len(ours)} rows equal")
            continue
        failed += 1
        print(f"{name}: {len(ours)} rows here, {len(theirs)} in DuckDB")
        for left, right in zip(ours, theirs):
            if left != right:
                print(f"  here   {left}\n  DuckDB {right}")
                break
    print(f"{failed} files differ" if failed else "all equal")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
