-- id: confirmed
-- title: the confirmed responses with where their records lie
-- needs: responses, exchanges, sources
-- version: 1
-- why: the list that people act on, each line with the place to read it again
SELECT
    r.exchange_id,
    r.request_id,
    r.call_id,
    r.tenant,
    r.source_tenant,
    r.source_exchange_id,
    r.event_time,
    r.exposure,
    r.excluded,
    r.aborted,
    r.prompt_tokens,
    r.reasons,
    a.path AS path,
    e.source_offset AS record_offset,
    e.source_length AS record_length,
    b.path AS source_path,
    s.source_offset AS source_record_offset,
    s.source_length AS source_record_length
FROM responses AS r
JOIN exchanges AS e ON e.exchange_id = r.exchange_id
LEFT JOIN sources AS a ON a.source_id = e.source_id
LEFT JOIN exchanges AS s ON s.exchange_id = r.source_exchange_id
LEFT JOIN sources AS b ON b.source_id = s.source_id
WHERE r.grade = 'confirmed'
ORDER BY r.event_time NULLS LAST, r.exchange_id
