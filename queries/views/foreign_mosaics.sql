-- id: foreign_mosaics
-- title: chains of short foreign fragments that count as foreign text
-- needs: overlaps, exchanges, exposed_calls, leak_points, score_points
-- keep: rows
-- version: 2
-- why: a lightly reworded passage has no long span; its fragments in order are beyond chance, but
--      two tenants that ask the same get similar answers, so all evidence of that tenant in the
--      answer must weigh enough (leak_points)
SELECT
    o.exchange_id,
    e.call_id,
    o.source_exchange_id,
    o.source_tenant,
    o.source_side,
    o.source_field,
    o.field,
    o.response_start,
    o.response_end,
    o.source_start,
    o.source_end,
    o.chain_tokens,
    o.chain_bits,
    o.prompt_similarity_permille,
    o.lag_ms,
    COALESCE(o."order", 'unknown') AS time_order,
    o.same_share_group,
    o.turnovers,
    COALESCE(x.exposure_rank, 0) > 0 AS exposed
FROM "overlaps" AS o
JOIN exchanges AS e ON e.exchange_id = o.exchange_id
LEFT JOIN exposed_calls AS x ON x.call_id = e.call_id
LEFT JOIN leak_points AS p
    ON p.exchange_id = o.exchange_id AND p.source_tenant = o.source_tenant
LEFT JOIN score_points AS c ON c.term = 'cut'
WHERE e.in_window
    AND o.chain_bits IS NOT NULL
    AND NOT COALESCE(e.cache_hit, FALSE)
    AND COALESCE(o."order", 'unknown') <> 'after'
    AND NOT (
        o.source_side = 'response'
        AND COALESCE(o."order", 'unknown') = 'overlap'
        AND COALESCE(o.lag_ms, 0) <= 0
    )
    AND (
        (o.chain_bits >= 60 AND p.points >= c.millinats)
        OR (COALESCE(x.exposure_rank, 0) > 0 AND o.chain_bits >= 21)
    )
    AND COALESCE(o.prompt_similarity_permille, 0) < 300
