-- id: first_tokens
-- title: how fast prompts were taken in, one row per delivered response with a time to first token
-- needs: exchanges, exposure
-- keep: rows
-- version: 1
-- why: a prompt that was never computed gives its first token at once; tokens that were cached
--      need no computing, and an answer of the gateway's cache nothing at all
SELECT
    x.exchange_id,
    COALESCE(d.model, '') AS model,
    COALESCE(d.deployment, '') AS deployment,
    x.prompt_tokens - COALESCE(d.cached_tokens, 0) AS fresh_tokens,
    d.cached_tokens,
    d.first_token_ms,
    -- Tokens a second, whole.
    CAST(
        FLOOR(
            CAST((x.prompt_tokens - COALESCE(d.cached_tokens, 0)) * 1000 AS DOUBLE)
            / CAST(d.first_token_ms AS DOUBLE)
        ) AS BIGINT
    ) AS rate,
    x.known AND NOT x.over_limit AS below_limit,
    x.over_limit
FROM exposure AS x
JOIN exchanges AS d ON d.exchange_id = x.exchange_id
WHERE x.accepted
    AND d.first_token_ms > 0
    AND NOT COALESCE(d.cache_hit, FALSE)
    AND x.prompt_tokens - COALESCE(d.cached_tokens, 0) >= 256
