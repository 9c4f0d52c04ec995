-- id: sensitivity
-- title: how the number of exposed responses with foreign text moves with the thresholds
-- needs: responses, response_twins, overlaps
-- version: 1
-- why: a number that hangs on one threshold should be seen to hang on it
WITH words AS (
    SELECT 8 AS min_words, 16 AS min_weight
    UNION ALL SELECT 12 AS min_words, 24 AS min_weight
    UNION ALL SELECT 24 AS min_words, 48 AS min_weight
),
limits AS (
    SELECT 'engine_limit' AS name
    UNION ALL SELECT 'pool' AS name
),
carriers AS (
    SELECT 1 AS max_carriers
    UNION ALL SELECT 2 AS max_carriers
    UNION ALL SELECT 3 AS max_carriers
),
spans AS (
    SELECT
        r.exchange_id,
        o.novel_weight,
        o.carriers,
        CASE WHEN r.over_limit THEN 1 ELSE 0 END AS over_limit,
        CASE WHEN r.over_pool THEN 1 ELSE 0 END AS over_pool
    FROM responses AS r
    JOIN response_twins AS t ON t.exchange_id = r.exchange_id
    JOIN "overlaps" AS o ON o.exchange_id = t.twin_exchange_id
    WHERE r.accepted AND r.over_limit AND r.excluded IS NULL AND NOT r.aborted
        AND COALESCE(r.cause, '') <> 'gateway_cache'
        AND NOT (
            o.source_side = 'response'
            AND COALESCE(o."order", 'unknown') = 'overlap'
            AND COALESCE(o.lag_ms, 0) <= 0
        )
)
SELECT
    w.min_words,
    l.name AS "limit",
    c.max_carriers,
    COUNT(DISTINCT s.exchange_id) AS responses,
    w.min_words = 12 AND l.name = 'engine_limit' AND c.max_carriers = 1 AS in_use
FROM words AS w
CROSS JOIN limits AS l
CROSS JOIN carriers AS c
LEFT JOIN spans AS s
    ON s.novel_weight >= w.min_weight
    AND s.carriers <= c.max_carriers
    AND ((l.name = 'engine_limit' AND s.over_limit = 1) OR (l.name = 'pool' AND s.over_pool = 1))
GROUP BY w.min_words, l.name, c.max_carriers
ORDER BY w.min_words, l.name, c.max_carriers
