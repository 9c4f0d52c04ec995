-- id: fitness
-- title: how many calls a text test could see, and triggered ones without their whole response
-- needs: exchanges, response_twins, exposure
-- version: 1
-- why: a clean result stands only on calls that were looked at
WITH texts AS (
    SELECT
        d.call_id,
        d.exchange_id,
        MAX(CASE WHEN e.judged AND e.foreign_exchanges > 0 THEN 1 ELSE 0 END) AS seen,
        MAX(CASE WHEN e.response_state = 'full' AND e.response_hmac IS NOT NULL
            THEN 1 ELSE 0 END) AS whole
    FROM response_twins AS t
    JOIN exchanges AS d ON d.exchange_id = t.exchange_id
    JOIN exchanges AS e ON e.exchange_id = t.twin_exchange_id
    GROUP BY d.call_id, d.exchange_id
),
calls AS (
    SELECT
        x.call_id,
        MAX(x.seen) AS seen,
        MAX(CASE WHEN p.over_limit AND p.accepted AND x.whole = 0 THEN 1 ELSE 0 END)
            AS triggered_cut
    FROM texts AS x
    JOIN exposure AS p ON p.exchange_id = x.exchange_id
    GROUP BY x.call_id
)
SELECT
    COUNT(*) AS calls,
    COALESCE(SUM(seen), 0) AS calls_seen,
    COALESCE(SUM(triggered_cut), 0) AS triggered_incomplete
FROM calls
ORDER BY calls
