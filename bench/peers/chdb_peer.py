#!/usr/bin/env python3
"""The job in ClickHouse (chdb): chdb_peer.py LOG suspect|full|threshold|parquet OUT POOL WORDS TENANTS

As in DuckDB, with arrayShingles for the runs of words.
"""

import os
import shutil
import sys

from chdb import session

log, mode, out, pool, size, tenants = sys.argv[1:4] + [int(a) for a in sys.argv[4:7]]
COLUMNS = ("request_id String, timestamp Int64, tenant String, status UInt16, prompt_tokens UInt64, "
           "prompt String, response String")
READ = f"file('{log}', 'JSONEachRow', '{COLUMNS}')"
ANSWERED = "status = 200" + (f" AND prompt_tokens > {pool}" if mode != "full" else "")
folder = out + ".chdb"
shutil.rmtree(folder, ignore_errors=True)
if os.path.exists(out):
    os.remove(out)
server = session.Session(folder)
server.query("SET max_threads = 2")


def runs(column, where):
    return f"""
        SELECT id, pair.1 AS place, pair.2 AS run FROM (
            SELECT id, arrayJoin(arrayZip(range(toUInt32(length(hashes))), hashes)) AS pair FROM (
                SELECT id, arrayMap(r -> cityHash64(r), arrayShingles(words, {size})) AS hashes FROM (
                    SELECT id, arrayMap(w -> cityHash64(w), arrayFilter(w -> w != '', splitByWhitespace({column}))) AS words
                    FROM job.logs WHERE {where})
                WHERE length(words) >= {size}))"""


def table(name, columns, order, query, settings=""):
    server.query(f"CREATE TABLE job.{name} ({columns}) ENGINE = MergeTree ORDER BY {order}")
    server.query(f"INSERT INTO job.{name} {query} {settings}")


if mode == "threshold":
    print(server.query(f"SELECT request_id, tenant, timestamp, prompt_tokens FROM {READ} WHERE {ANSWERED}"))
elif mode == "parquet":
    server.query(f"SELECT * FROM {READ} INTO OUTFILE '{out}' FORMAT Parquet")
else:
    small = "SETTINGS max_block_size = 256"
    server.query("CREATE DATABASE job")
    table("logs", f"id UInt32, {COLUMNS}", "id", f"SELECT rowNumberInAllBlocks(), * FROM {READ}",
          "SETTINGS max_threads = 1, max_insert_threads = 1")
    places = "id UInt32, place UInt32, run UInt64"
    table("answers", places, "run", runs("response", ANSWERED), small)
    table("prompts", places, "run", f"SELECT * FROM ({runs('prompt', '1')}) WHERE run IN (SELECT run FROM job.answers)", small)
    table("common", "run UInt64", "run", f"""SELECT run FROM job.prompts JOIN job.logs USING (id)
        GROUP BY run HAVING uniqExact(tenant) >= {tenants}""")
    who = "JOIN (SELECT id, tenant, timestamp FROM job.logs) l ON l.id = t.id"
    columns = "t.id AS id, t.place AS place, t.run AS run, l.tenant AS tenant, l.timestamp AS at"
    table("hits", "answer UInt32, source UInt32, diagonal Int64, place UInt32", "(answer, source, diagonal, place)", f"""
        SELECT a.id, p.id, toInt64(a.place) - toInt64(p.place), a.place
        FROM (SELECT {columns} FROM job.answers t {who}
              WHERE run NOT IN (SELECT run FROM job.common) AND (t.id, t.run) NOT IN (SELECT id, run FROM job.prompts)) a
        JOIN (SELECT {columns} FROM job.prompts t {who}) p ON p.run = a.run
        WHERE p.tenant != a.tenant AND p.at < a.at""")
    server.query(f"""
        SELECT la.request_id, first, total + {size - 1}, lp.request_id FROM (
            SELECT answer, source, min(place) AS first, count() AS total FROM (
                SELECT *, toInt64(place) - row_number() OVER (PARTITION BY answer, source, diagonal ORDER BY place) AS island
                FROM job.hits)
            GROUP BY answer, source, diagonal, island) s
        JOIN (SELECT id, request_id FROM job.logs) la ON la.id = s.answer
        JOIN (SELECT id, request_id FROM job.logs) lp ON lp.id = s.source
        INTO OUTFILE '{out}' FORMAT TSV""")
shutil.rmtree(folder, ignore_errors=True)
