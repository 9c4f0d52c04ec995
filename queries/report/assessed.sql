-- id: assessed
-- title: how much of the traffic was seen by a text test
-- needs: responses, assessability
-- version: 1
-- why: a clean result is worth as much as the share of answers that could have shown something
WITH calls AS (
    SELECT
        r.call_id,
        -- Without foreign traffic to compare with, a text test sees nothing.
        MAX(CASE WHEN a.judged AND NOT a.no_foreign_corpus THEN 1 ELSE 0 END) AS seen,
        COUNT(*) AS responses,
        SUM(CASE WHEN r.disclosure <> 'not_assessable' THEN 1 ELSE 0 END) AS assessed,
        SUM(CASE WHEN r.over_limit AND r.disclosure = 'not_assessable' THEN 1 ELSE 0 END)
            AS triggered_unassessed,
        SUM(CASE WHEN r.over_limit AND a.text_incomplete THEN 1 ELSE 0 END)
            AS triggered_incomplete
    FROM responses AS r
    JOIN assessability AS a ON a.exchange_id = r.exchange_id
    WHERE NOT r.aborted AND r.excluded IS NULL
    GROUP BY r.call_id
)
SELECT
    COUNT(*) AS calls,
    COALESCE(SUM(seen), 0) AS calls_seen,
    COALESCE(SUM(responses), 0) AS responses,
    COALESCE(SUM(assessed), 0) AS responses_assessed,
    COALESCE(SUM(triggered_unassessed), 0) AS triggered_unassessed,
    COALESCE(SUM(triggered_incomplete), 0) AS triggered_incomplete
FROM calls
ORDER BY 1
