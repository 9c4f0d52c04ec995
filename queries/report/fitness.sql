-- id: fitness
-- title: what the exit code depends on besides the findings
-- needs: exchanges, exposure, assessability
-- version: 1
-- why: a run over logs that could not have shown anything must not end like a clean one
WITH calls AS (
    SELECT
        d.call_id,
        MAX(CASE WHEN a.judged THEN 1 ELSE 0 END) AS seen,
        MAX(
            CASE
                WHEN x.over_limit AND x.accepted AND a.text_incomplete THEN 1
                ELSE 0
            END
        ) AS triggered_incomplete
    FROM exchanges AS d
    JOIN exposure AS x ON x.exchange_id = d.exchange_id
    JOIN assessability AS a ON a.exchange_id = d.exchange_id
    GROUP BY d.call_id
)
SELECT
    COUNT(*) AS calls,
    COALESCE(SUM(seen), 0) AS calls_seen,
    COALESCE(SUM(triggered_incomplete), 0) AS triggered_incomplete
FROM calls
ORDER BY 1
