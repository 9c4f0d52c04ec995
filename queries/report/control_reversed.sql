-- id: control_reversed
-- title: exposed responses whose text stands in a later answer of another tenant
-- needs: responses, overlaps, exchanges, exposed_calls
-- version: 1
-- why: what comes after a response cannot be its source, so the same test with time turned round
--      shows how often two tenants' answers share such a passage for other reasons
WITH judged AS (
    SELECT r.exchange_id, r.tenant
    FROM responses AS r
    JOIN exchanges AS e ON e.exchange_id = r.exchange_id
    WHERE r.exposed AND r.disclosure <> 'not_assessable' AND r.excluded IS NULL
        AND NOT r.aborted AND r.tenant IS NOT NULL AND e.t_start IS NOT NULL
),
searched AS (
    SELECT
        e.exchange_id,
        e.tenant,
        e.t_start,
        CASE WHEN e.judged AND x.call_id IS NULL THEN 1 ELSE 0 END AS later_one
    FROM exchanges AS e
    LEFT JOIN exposed_calls AS x ON x.call_id = e.call_id
    WHERE e.delivered AND e.tenant IS NOT NULL AND e.t_start IS NOT NULL
),
placed AS (
    -- Per exchange: all others of other tenants before it, and those after it that were searched.
    SELECT
        exchange_id,
        ROW_NUMBER() OVER (ORDER BY t_start, exchange_id)
            - ROW_NUMBER() OVER (PARTITION BY tenant ORDER BY t_start, exchange_id) AS earlier,
        SUM(later_one) OVER (
            ORDER BY t_start DESC, exchange_id DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) - SUM(later_one) OVER (
            PARTITION BY tenant
            ORDER BY t_start DESC, exchange_id DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS later
    FROM searched
),
hits AS (
    SELECT DISTINCT j.exchange_id
    FROM judged AS j
    JOIN "overlaps" AS o ON o.source_exchange_id = j.exchange_id
    JOIN searched AS s ON s.exchange_id = o.exchange_id
    WHERE o.source_side = 'response'
        AND o.chain_bits IS NULL
        AND o.novel_weight >= 24
        AND o.carriers = 1
        AND o."order" = 'before'
        AND o.tenant <> j.tenant
        AND s.later_one = 1
)
SELECT
    COUNT(*) AS responses,
    CAST(COALESCE(SUM(p.earlier), 0) AS BIGINT) AS earlier_pairs,
    CAST(COALESCE(SUM(p.later), 0) AS BIGINT) AS later_pairs,
    (SELECT COUNT(*) FROM hits) AS reversed_hits
FROM judged AS j
JOIN placed AS p ON p.exchange_id = j.exchange_id
ORDER BY responses
