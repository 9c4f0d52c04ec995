#!/usr/bin/env python3
"""The job in Polars: polars_peer.py LOG suspect|full|threshold|parquet OUT POOL WORDS TENANTS

Words are exploded and hashed, a run is a polynomial over shifted hashes, prompts go through in slices.
"""

import sys

import polars as pl

log, mode, out, pool, size, tenants = sys.argv[1:4] + [int(a) for a in sys.argv[4:7]]
logs = pl.scan_ndjson(log, infer_schema_length=10).collect().with_row_index("id")
answered = pl.col("status") == 200
if mode != "full":
    answered &= pl.col("prompt_tokens") > pool
FACTOR = pl.lit(6_364_136_223_846_793_005, dtype=pl.UInt64)


def runs(frame, column):
    words = (
        frame.select("id", pl.col(column).str.replace_all(r"\s+", " ").str.strip_chars().str.split(" ").alias("word"))
        .explode("word")
        .with_columns(pl.col("word").hash(1))
        .with_columns(pl.int_range(pl.len()).over("id").alias("place"))
    )
    run = pl.col("word")
    for i in range(1, size):
        run = run * FACTOR + pl.col("word").shift(-i)
    inside = pl.col("id") == pl.col("id").shift(1 - size)
    return words.with_columns(run.alias("run"), inside.alias("inside")).filter("inside").select("id", "place", "run")


if mode == "threshold":
    print(logs.filter(answered).select("request_id", "tenant", "timestamp", "prompt_tokens").rows())
elif mode == "parquet":
    logs.write_parquet(out, compression="zstd")
else:
    facts = logs.select("id", "request_id", "tenant", "timestamp")
    answers = runs(logs.filter(answered), "response")
    known = answers.select("run").unique()
    slices = (logs.slice(first, 500) for first in range(0, logs.height, 500))
    prompts = pl.concat([runs(part, "prompt").join(known, on="run", how="semi") for part in slices])
    sources = prompts.join(facts, on="id")
    common = sources.group_by("run").agg(pl.col("tenant").n_unique()).filter(pl.col("tenant") >= tenants).select("run")
    own = prompts.select("id", "run").unique()
    hits = (
        answers.join(common, on="run", how="anti").join(own, on=["id", "run"], how="anti").join(facts, on="id")
        .join(sources, on="run", suffix="_source")
        .filter(pl.col("tenant") != pl.col("tenant_source"), pl.col("timestamp_source") < pl.col("timestamp"))
        .with_columns((pl.col("place").cast(pl.Int64) - pl.col("place_source").cast(pl.Int64)).alias("diagonal"))
        .sort("id", "id_source", "diagonal", "place")
        .with_columns((pl.col("place") - pl.int_range(pl.len()).over("id", "id_source", "diagonal")).alias("island"))
    )
    spans = hits.group_by("id", "id_source", "diagonal", "island").agg(
        pl.col("request_id").first(), pl.col("place").min(), pl.len().alias("words"),
        pl.col("request_id_source").first(),
    )
    spans.select("request_id", "place", pl.col("words") + size - 1, "request_id_source").write_csv(
        out, separator="\t", include_header=False)
