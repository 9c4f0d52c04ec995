-- id: fact_overlap
-- title: rare facts of one foreign exchange meet in a response
-- severity: high
-- disclosure: likely
-- needs: fact_overlaps, exchanges, exposed_calls, foreign_spans, leak_points, score_points
-- version: 2
-- why: a translation or a summary keeps names, numbers and dates; three independent rare ones of
--      one exchange that the own prompt lacks do not meet by chance. Outside a known exposure the
--      world itself joins facts, so that all evidence of that tenant must weigh enough there
WITH eligible AS (
    SELECT
        f.*,
        COALESCE(x.exposure_rank, 0) > 0 AS exposed,
        COALESCE(p.points >= c.millinats, FALSE) AS weighty
    FROM fact_overlaps AS f
    JOIN exchanges AS e ON e.exchange_id = f.exchange_id
    LEFT JOIN exposed_calls AS x ON x.call_id = e.call_id
    LEFT JOIN leak_points AS p
        ON p.exchange_id = f.exchange_id AND p.source_tenant = f.source_tenant
    LEFT JOIN score_points AS c ON c.term = 'cut'
    WHERE e.in_window
        AND NOT COALESCE(e.cache_hit, FALSE)
        AND NOT (
            f.source_field <> 'prompt'
            AND COALESCE(f."order", 'unknown') = 'overlap'
            AND f.lag_ms <= 0
        )
        AND COALESCE(f.prompt_similarity_permille, 0) < 200
        AND NOT EXISTS (
            SELECT 1
            FROM foreign_spans AS s
            WHERE s.exchange_id = f.exchange_id AND s.source_tenant = f.source_tenant
        )
),
ranked AS (
    SELECT
        g.*,
        ROW_NUMBER() OVER (
            PARTITION BY g.exchange_id, g.source_tenant
            ORDER BY g.score_millibits DESC, g.lag_ms DESC, g.source_exchange_id, g.field
        ) AS place
    FROM eligible AS g
    WHERE g.score_millibits >= 10000 AND (g.exposed OR g.weighty)
)
SELECT
    exchange_id,
    source_exchange_id,
    source_tenant,
    field,
    response_start,
    response_end,
    source_field,
    source_start,
    source_end,
    facts,
    names,
    numbers,
    dates,
    ids,
    surprise_millibits,
    score_millibits,
    prompt_similarity_permille,
    lag_ms,
    "order",
    same_share_group,
    exposed
FROM ranked
WHERE place = 1
ORDER BY exchange_id, source_tenant
