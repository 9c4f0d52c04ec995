-- id: recipients
-- title: who received whose text
-- needs: responses, disclosures
-- version: 1
-- why: both sides have to be told; an answer that shows several tenants counts for each
SELECT
    r.tenant,
    d.source_tenant,
    SUM(CASE WHEN r.grade = 'confirmed' AND d.disclosure_rank = 2 THEN 1 ELSE 0 END) AS confirmed,
    COUNT(*) AS responses,
    MIN(r.event_time) AS first_time,
    MAX(r.event_time) AS last_time
FROM responses AS r
JOIN disclosures AS d ON d.exchange_id = r.exchange_id
WHERE r.exposed AND NOT r.aborted AND r.excluded IS NULL AND r.generation = 1
    AND r.grade IN ('confirmed', 'probable')
GROUP BY r.tenant, d.source_tenant
ORDER BY r.tenant NULLS LAST, d.source_tenant NULLS LAST
