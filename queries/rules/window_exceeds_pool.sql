-- id: window_exceeds_pool
-- title: the context window is larger than the KV pool
-- severity: medium
-- needs: capacity, exposure
-- version: 2
-- why: every prompt between the limit and the window is let in by the gateway and cannot be held
--      by the prefill node; whether any such prompt was answered is said beside it
WITH hits AS (
    SELECT capacity_id, COUNT(*) AS answers
    FROM exposure
    WHERE over_limit AND accepted
    GROUP BY capacity_id
)
SELECT
    CAST(NULL AS VARCHAR) AS exchange_id,
    c.capacity_id AS finding_key,
    valid_from AS event_time,
    CASE
        WHEN mode IS NULL THEN 'the context window is larger than the KV pool (mode unknown)'
        ELSE 'the context window is larger than the KV pool'
    END AS title,
    c.capacity_id,
    model,
    deployment,
    node,
    role,
    valid_from,
    valid_to,
    pool_tokens,
    window_tokens,
    reject_at_tokens,
    reject_at_tokens AS exposed_from_tokens,
    window_tokens AS exposed_below_tokens,
    COALESCE(h.answers, 0) AS answers_in_that_range,
    engine,
    engine_version,
    COALESCE(mode, 'unknown') AS mode
FROM capacity AS c
LEFT JOIN hits AS h ON h.capacity_id = c.capacity_id
WHERE pool_tokens < window_tokens
    AND COALESCE(role, 'prefill') IN ('prefill', 'unified')
    AND COALESCE(mode, 'unknown') <> 'unified'
ORDER BY c.capacity_id
