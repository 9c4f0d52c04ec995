-- id: not_assessable
-- title: why responses could not be assessed
-- needs: responses
-- version: 1
-- why: one response may have several reasons; each is counted
WITH words AS (
    SELECT 'capacity_unknown' AS reason
    UNION ALL SELECT 'encrypted' AS reason
    UNION ALL SELECT 'ids_only' AS reason
    UNION ALL SELECT 'limit_band' AS reason
    UNION ALL SELECT 'no_foreign_corpus' AS reason
    UNION ALL SELECT 'not_searched' AS reason
    UNION ALL SELECT 'own_prompt_incomplete' AS reason
    UNION ALL SELECT 'response_incomplete' AS reason
    UNION ALL SELECT 'stateful' AS reason
    UNION ALL SELECT 'tenant_unknown' AS reason
    UNION ALL SELECT 'text_absent' AS reason
    UNION ALL SELECT 'time_unknown' AS reason
    UNION ALL SELECT 'unlogged_image' AS reason
)
SELECT
    w.reason,
    COUNT(*) AS responses,
    SUM(CASE WHEN r.disclosure = 'not_assessable' THEN 1 ELSE 0 END) AS not_assessable
FROM words AS w
JOIN responses AS r ON ',' || r.reasons || ',' LIKE '%,' || w.reason || ',%'
WHERE NOT r.aborted AND r.excluded IS NULL
GROUP BY w.reason
ORDER BY responses DESC, w.reason
