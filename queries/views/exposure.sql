-- id: exposure
-- title: prompt length against the limit in force, one row per delivered exchange
-- needs: exchanges
-- keep: rows
-- version: 1
-- why: the gateway knows the length, an engine record of the same call may know the node; the
--      node's own limit is exact and stands before a bound over the deployment
WITH asked AS (
    -- A prefill node that stubbed the prompt says 1, so its count is never taken.
    SELECT call_id, MAX(prompt_tokens) AS prompt_tokens
    FROM exchanges
    WHERE role <> 'prefill'
    GROUP BY call_id
),
limits AS (
    SELECT
        call_id,
        exchange_id,
        reject_at_tokens,
        COALESCE(reject_at_max_tokens, reject_at_tokens) AS reject_at_max_tokens,
        pool_tokens,
        window_tokens,
        capacity_id,
        capacity_match,
        CASE
            WHEN role IN ('prefill', 'unified') AND capacity_match = 'node' THEN 1 ELSE 0
        END AS exact,
        ROW_NUMBER() OVER (
            PARTITION BY call_id
            ORDER BY
                CASE
                    WHEN role IN ('prefill', 'unified') AND capacity_match = 'node' THEN 0
                    ELSE 1
                END,
                CASE capacity_match
                    WHEN 'node' THEN 0 WHEN 'deployment' THEN 1 WHEN 'model' THEN 2 ELSE 3
                END,
                reject_at_tokens,
                exchange_id
        ) AS limit_rank
    FROM exchanges
    WHERE reject_at_tokens IS NOT NULL
),
joined AS (
    SELECT
        d.exchange_id,
        d.call_id,
        CASE WHEN d.prompt_tokens > 1 THEN d.prompt_tokens
             ELSE COALESCE(a.prompt_tokens, d.prompt_tokens) END AS prompt_tokens,
        CASE WHEN d.reject_at_tokens IS NULL OR l.exact = 1 THEN 1 ELSE 0 END AS borrowed,
        l.exchange_id AS limit_exchange_id,
        d.reject_at_tokens AS own_reject_at,
        COALESCE(d.reject_at_max_tokens, d.reject_at_tokens) AS own_reject_at_max,
        d.pool_tokens AS own_pool,
        d.window_tokens AS own_window,
        d.capacity_id AS own_capacity_id,
        d.capacity_match AS own_capacity_match,
        l.reject_at_tokens,
        l.reject_at_max_tokens,
        l.pool_tokens,
        l.window_tokens,
        l.capacity_id,
        l.capacity_match,
        -- Tokens that were generated prove acceptance where the log has no status.
        CASE
            WHEN (COALESCE(d.completion_tokens, 0) > 0 OR COALESCE(d.response_bytes, 0) > 0)
                AND (
                    d.http_status = 200
                    OR (
                        d.http_status IS NULL
                        AND COALESCE(d.outcome, 'unknown') IN ('ok', 'unknown', 'aborted')
                    )
                )
                THEN 1
            ELSE 0
        END AS accepted
    FROM exchanges AS d
    LEFT JOIN asked AS a ON a.call_id = d.call_id
    LEFT JOIN limits AS l ON l.call_id = d.call_id AND l.limit_rank = 1
    WHERE d.delivered AND d.in_window
),
chosen AS (
    SELECT
        exchange_id,
        call_id,
        prompt_tokens,
        accepted,
        CASE WHEN borrowed = 1 THEN limit_exchange_id ELSE exchange_id END AS limit_exchange_id,
        CASE WHEN borrowed = 1 THEN reject_at_tokens ELSE own_reject_at END AS reject_at_tokens,
        CASE
            WHEN borrowed = 1 THEN reject_at_max_tokens ELSE own_reject_at_max
        END AS reject_at_max_tokens,
        CASE WHEN borrowed = 1 THEN pool_tokens ELSE own_pool END AS pool_tokens,
        CASE WHEN borrowed = 1 THEN window_tokens ELSE own_window END AS window_tokens,
        CASE WHEN borrowed = 1 THEN capacity_id ELSE own_capacity_id END AS capacity_id,
        COALESCE(
            CASE WHEN borrowed = 1 THEN capacity_match ELSE own_capacity_match END, 'none'
        ) AS capacity_match
    FROM joined
)
SELECT
    exchange_id,
    call_id,
    prompt_tokens,
    reject_at_tokens,
    reject_at_max_tokens,
    pool_tokens,
    window_tokens,
    capacity_id,
    capacity_match,
    limit_exchange_id,
    accepted = 1 AS accepted,
    prompt_tokens IS NOT NULL AND reject_at_tokens IS NOT NULL AS known,
    COALESCE(prompt_tokens > pool_tokens, FALSE) AS over_pool,
    COALESCE(prompt_tokens >= reject_at_tokens, FALSE) AS over_limit,
    COALESCE(
        prompt_tokens >= reject_at_tokens AND prompt_tokens < reject_at_max_tokens, FALSE
    ) AS band
FROM chosen
