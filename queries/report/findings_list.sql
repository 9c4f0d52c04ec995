-- id: findings_list
-- title: the findings, worst first, with where their records lie
-- needs: findings, exchanges, sources
-- version: 1
-- why: evidence is only as good as the way back to its record
SELECT
    f.finding_id,
    f.rule_id,
    f.severity,
    f.exposure,
    f.disclosure,
    f.request_id,
    f.exchange_id,
    f.call_id,
    f.tenant,
    f.source_exchange_id,
    f.source_tenant,
    f.event_time,
    f.title,
    f.evidence,
    a.path AS path,
    e.source_offset AS record_offset,
    e.source_length AS record_length,
    b.path AS source_path,
    s.source_offset AS source_record_offset,
    s.source_length AS source_record_length
FROM findings AS f
LEFT JOIN exchanges AS e ON e.exchange_id = f.exchange_id
LEFT JOIN sources AS a ON a.source_id = e.source_id
LEFT JOIN exchanges AS s ON s.exchange_id = f.source_exchange_id
LEFT JOIN sources AS b ON b.source_id = s.source_id
ORDER BY
    CASE f.severity WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2 ELSE 3 END,
    f.event_time NULLS LAST,
    f.finding_id
