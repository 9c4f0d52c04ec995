-- id: window_exceeds_pool
-- title: the context window is larger than the KV pool
-- severity: medium
-- needs: capacity
-- version: 1
-- why: every prompt between the limit and the window is let in by the gateway and cannot be held
--      by the prefill node
SELECT
    CAST(NULL AS VARCHAR) AS exchange_id,
    capacity_id AS finding_key,
    valid_from AS event_time,
    CASE
        WHEN mode IS NULL THEN 'the context window is larger than the KV pool (mode unknown)'
        ELSE 'the context window is larger than the KV pool'
    END AS title,
    capacity_id,
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
    engine,
    engine_version,
    COALESCE(mode, 'unknown') AS mode
FROM capacity
WHERE pool_tokens < window_tokens
    AND COALESCE(role, 'prefill') IN ('prefill', 'unified')
    AND COALESCE(mode, 'unknown') <> 'unified'
ORDER BY capacity_id
