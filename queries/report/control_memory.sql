-- id: control_memory
-- title: exposed responses whose foreign text can or cannot have lain in their memory
-- needs: responses, response_twins, foreign_spans, exchanges
-- version: 1
-- why: a text that another process held cannot have leaked through memory, so such hits show how
--      often the rules hit for other reasons
WITH judged AS (
    SELECT r.exchange_id, r.tenant, e.share_group
    FROM responses AS r
    JOIN exchanges AS e ON e.exchange_id = r.exchange_id
    WHERE r.exposed AND r.disclosure <> 'not_assessable' AND r.excluded IS NULL
        AND NOT r.aborted AND r.tenant IS NOT NULL AND e.share_group LIKE 'node/%'
),
spans AS (
    SELECT
        j.exchange_id,
        MAX(CASE WHEN f.memory_possible THEN 1 ELSE 0 END) AS possible,
        MAX(CASE WHEN NOT f.memory_possible THEN 1 ELSE 0 END) AS impossible
    FROM judged AS j
    JOIN response_twins AS t ON t.exchange_id = j.exchange_id
    JOIN foreign_spans AS f ON f.exchange_id = t.twin_exchange_id
    GROUP BY j.exchange_id
),
held AS (
    -- What other tenants sent, by the process that held it.
    SELECT share_group, tenant, COUNT(*) AS exchanges
    FROM exchanges
    WHERE share_group LIKE 'node/%' AND tenant IS NOT NULL AND role <> 'prefill'
    GROUP BY share_group, tenant
),
pairs AS (
    SELECT
        SUM(CASE WHEN h.share_group = j.share_group THEN h.exchanges ELSE 0 END) AS same_pairs,
        SUM(CASE WHEN h.share_group <> j.share_group THEN h.exchanges ELSE 0 END) AS other_pairs
    FROM judged AS j
    JOIN held AS h ON h.tenant <> j.tenant
)
SELECT
    (SELECT COUNT(*) FROM judged) AS responses,
    (SELECT COUNT(*) FROM spans WHERE possible = 1) AS possible_hits,
    (SELECT COUNT(*) FROM spans WHERE possible = 0 AND impossible = 1) AS impossible_hits,
    COALESCE(p.same_pairs, 0) AS same_pairs,
    COALESCE(p.other_pairs, 0) AS other_pairs
FROM pairs AS p
ORDER BY responses
