-- id: capacity_contradiction
-- title: two witnesses name different pools for one node and time
-- severity: low
-- needs: capacity
-- version: 1
-- why: which answers were exposed depends on the pool; where the configuration and the engine's own
--      words differ, both stand as bounds until someone finds out
SELECT
    CAST(NULL AS VARCHAR) AS exchange_id,
    a.capacity_id || ' ' || b.capacity_id AS finding_key,
    CASE
        WHEN a.valid_from IS NULL THEN b.valid_from
        WHEN b.valid_from IS NULL THEN a.valid_from
        WHEN a.valid_from < b.valid_from THEN b.valid_from
        ELSE a.valid_from
    END AS event_time,
    a.node,
    a.pool_tokens AS first_pool_tokens,
    a.window_tokens AS first_window_tokens,
    a.source AS first_source,
    b.pool_tokens AS second_pool_tokens,
    b.window_tokens AS second_window_tokens,
    b.source AS second_source
FROM capacity AS a
JOIN capacity AS b ON b.node = a.node AND a.capacity_id < b.capacity_id
WHERE (a.pool_tokens <> b.pool_tokens OR a.window_tokens <> b.window_tokens)
    AND (a.valid_to IS NULL OR b.valid_from IS NULL OR b.valid_from < a.valid_to)
    AND (b.valid_to IS NULL OR a.valid_from IS NULL OR a.valid_from < b.valid_to)
ORDER BY a.capacity_id, b.capacity_id
