-- id: capacity_epochs
-- title: the capacity epochs and where window and pool do not meet
-- needs: capacity
-- version: 1
-- why: the range between limit and window is what was exposed while the epoch lasted
SELECT
    capacity_id,
    model,
    deployment,
    node,
    role,
    valid_from,
    valid_to,
    pool_tokens,
    window_tokens,
    page_tokens,
    reject_at_tokens,
    engine,
    engine_version,
    mode,
    source,
    CASE
        WHEN pool_tokens IS NULL OR window_tokens IS NULL THEN 'unknown'
        WHEN pool_tokens >= window_tokens THEN 'none'
        WHEN NOT COALESCE(role, 'prefill') IN ('prefill', 'unified') THEN 'none'
        WHEN mode IS NULL THEN 'exposed_mode_unknown'
        WHEN mode = 'unified' THEN 'unified'
        ELSE 'exposed'
    END AS mismatch
FROM capacity
ORDER BY
    model NULLS LAST,
    deployment NULLS LAST,
    node NULLS LAST,
    valid_from NULLS FIRST,
    capacity_id
