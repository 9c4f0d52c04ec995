-- id: responses
-- title: every verdict with what the report counts by
-- needs: verdicts, exchanges, exposure
-- keep: rows
-- version: 1
-- why: one place decides what is counted: streams that were broken off stand apart, excluded
--      tenants too, and the headline reads an unknown generation as the first
SELECT
    v.exchange_id,
    v.request_id,
    v.call_id,
    v.tenant,
    v.grade,
    v.exposure,
    v.disclosure,
    v.cause,
    v.excluded,
    v.source_tenant,
    v.source_exchange_id,
    v.findings,
    v.event_time,
    v.reasons,
    CAST(v.event_time AS DATE) AS event_day,
    COALESCE(v.generation, 1) AS generation,
    v.exposure IN ('likely', 'proven') AS exposed,
    COALESCE(e.outcome, 'unknown') = 'aborted' AS aborted,
    e.outcome,
    e.completion_tokens,
    x.prompt_tokens,
    x.reject_at_tokens,
    x.pool_tokens,
    x.accepted,
    x.over_pool,
    x.over_limit,
    x.band
FROM verdicts AS v
JOIN exchanges AS e ON e.exchange_id = v.exchange_id
JOIN exposure AS x ON x.exchange_id = v.exchange_id
