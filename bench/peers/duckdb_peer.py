#!/usr/bin/env python3
"""The job in DuckDB: duckdb_peer.py LOG suspect|full|threshold|parquet OUT POOL WORDS TENANTS

Words are exploded, runs of WORDS words hashed with LEAD over each text, response runs joined to prompt runs,
runs of the own prompt and of TENANTS or more tenants left out, and neighbours on one diagonal merged.
"""

import sys

import duckdb

log, mode, out, pool, size, tenants = sys.argv[1:4] + [int(a) for a in sys.argv[4:7]]
db = duckdb.connect()
db.execute("SET threads = 2")
db.execute("SET memory_limit = '16GB'")
db.execute("SET preserve_insertion_order = false")
COLUMNS = {
    "request_id": "VARCHAR", "timestamp": "BIGINT", "tenant": "VARCHAR", "status": "INTEGER",
    "prompt_tokens": "BIGINT", "prompt": "VARCHAR", "response": "VARCHAR",
}
READ = f"read_json('{log}', format = 'newline_delimited', maximum_object_size = 67108864, columns = {COLUMNS})"
ANSWERED = "status = 200" + (f" AND prompt_tokens > {pool}" if mode != "full" else "")


def runs(column, where):
    """A row per run of words: text, place, hash."""
    later = ", ".join(f"lead(word, {i}) OVER text AS w{i}" for i in range(1, size))
    all_words = ", ".join(["word"] + [f"w{i}" for i in range(1, size)])
    return f"""
        SELECT id, place, hash({all_words}) AS run FROM (
            SELECT id, place, word, {later} FROM (
                SELECT id, hash(unnest(words)) AS word, generate_subscripts(words, 1) - 1 AS place FROM (
                    SELECT id, regexp_split_to_array(trim({column}), '\\s+') AS words FROM logs WHERE {where}))
            WINDOW text AS (PARTITION BY id ORDER BY place))
        WHERE w{size - 1} IS NOT NULL"""


if mode == "threshold":
    print(db.execute(f"SELECT request_id, tenant, timestamp, prompt_tokens FROM {READ} WHERE {ANSWERED}").fetchall())
elif mode == "parquet":
    db.execute(f"COPY (SELECT * FROM {READ}) TO '{out}' (FORMAT parquet, COMPRESSION zstd)")
else:
    db.execute(f"CREATE TABLE logs AS SELECT row_number() OVER () AS id, * FROM {READ}")
    db.execute(f"CREATE TABLE answers AS {runs('response', ANSWERED)}")
    db.execute(f"CREATE TABLE prompts AS SELECT * FROM ({runs('prompt', 'true')}) SEMI JOIN answers USING (run)")
    db.execute(f"""CREATE TABLE common AS SELECT run FROM prompts JOIN logs USING (id)
        GROUP BY run HAVING count(DISTINCT tenant) >= {tenants}""")
    db.execute("""CREATE TABLE hits AS
        SELECT a.id AS answer, p.id AS source, a.place, a.place - p.place AS diagonal
        FROM answers a ANTI JOIN common USING (run)
        ANTI JOIN prompts own ON own.id = a.id AND own.run = a.run
        JOIN prompts p ON p.run = a.run JOIN logs la ON la.id = a.id JOIN logs lp ON lp.id = p.id
        WHERE la.tenant <> lp.tenant AND lp.timestamp < la.timestamp""")
    db.execute(f"""COPY (
        SELECT la.request_id, first, count + {size - 1}, lp.request_id FROM (
            SELECT answer, source, min(place) AS first, count(*) AS count FROM (
                SELECT *, place - row_number() OVER (PARTITION BY answer, source, diagonal ORDER BY place) AS island
                FROM hits) GROUP BY answer, source, diagonal, island)
        JOIN logs la ON la.id = answer JOIN logs lp ON lp.id = source)
        TO '{out}' (FORMAT csv, DELIMITER '\t', HEADER false)""")
