-- id: over_pool_accepted
-- title: a prompt at or over the prefill limit was answered with 200
-- severity: medium
-- exposure: likely
-- needs: exposure, gateway_cache
-- version: 1
-- why: a prompt that the prefill node must reject cannot have been computed there, so the answer
--      read pages that nobody had filled for it
SELECT
    x.exchange_id,
    x.prompt_tokens,
    x.reject_at_tokens,
    x.reject_at_max_tokens,
    x.pool_tokens,
    x.window_tokens,
    x.capacity_id,
    x.capacity_match,
    x.limit_exchange_id,
    x.over_pool,
    x.band
FROM exposure AS x
LEFT JOIN gateway_cache AS g ON g.exchange_id = x.exchange_id
-- An answer out of the gateway's cache touched no engine memory.
WHERE x.over_limit AND x.accepted AND g.exchange_id IS NULL
ORDER BY x.exchange_id
