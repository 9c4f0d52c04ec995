-- id: accounting_contradiction
-- title: the token counts of a call cannot all be true
-- severity: low
-- needs: exchanges
-- version: 1
-- why: counts lie in both directions, so this is a lead and no more; SGLang before 0.5.14 counts a
--      prefix twice where decode keeps a cache of its own, which is left out
WITH largest AS (
    SELECT tenant, MAX(prompt_tokens) AS most_tokens
    FROM exchanges
    WHERE tenant IS NOT NULL
    GROUP BY tenant
),
counted AS (
    SELECT
        call_id,
        MAX(CASE WHEN role IN ('gateway', 'client') THEN prompt_tokens END) AS gateway_tokens,
        MAX(CASE WHEN role IN ('decode', 'unified') THEN prompt_tokens END) AS engine_tokens
    FROM exchanges
    WHERE tokens_source IS NOT NULL
    GROUP BY call_id
),
found AS (
    SELECT
        e.exchange_id,
        'cached_above_prompt' AS contradiction,
        e.prompt_tokens,
        e.cached_tokens,
        CAST(NULL AS BIGINT) AS other_tokens
    FROM exchanges AS e
    WHERE e.cached_tokens > e.prompt_tokens
        AND e.prompt_tokens > 1
        AND NOT (
            COALESCE(e.engine, '') = 'sglang'
            AND COALESCE(e.engine_version, '0.5.9') IN (
                '0.5.5', '0.5.6', '0.5.7', '0.5.8', '0.5.9', '0.5.10', '0.5.11', '0.5.12',
                '0.5.12.post1', '0.5.13'
            )
        )
    UNION ALL
    SELECT
        e.exchange_id,
        'cached_above_all_of_tenant' AS contradiction,
        e.prompt_tokens,
        e.cached_tokens,
        l.most_tokens AS other_tokens
    FROM exchanges AS e
    JOIN largest AS l ON l.tenant = e.tenant
    WHERE e.cached_tokens > l.most_tokens
    UNION ALL
    SELECT
        e.exchange_id,
        'one_token_for_a_long_prompt' AS contradiction,
        e.prompt_tokens,
        e.cached_tokens,
        e.prompt_bytes AS other_tokens
    FROM exchanges AS e
    WHERE e.prompt_tokens = 1 AND e.prompt_bytes >= 512 AND e.role <> 'prefill'
    UNION ALL
    SELECT
        e.exchange_id,
        'gateway_and_engine_differ' AS contradiction,
        c.gateway_tokens AS prompt_tokens,
        e.cached_tokens,
        c.engine_tokens AS other_tokens
    FROM counted AS c
    JOIN exchanges AS e ON e.call_id = c.call_id
    -- A chat template costs some tokens, an estimate a few in a hundred.
    WHERE e.client_facing
        AND c.engine_tokens > 1
        AND (
            100 * c.gateway_tokens > 120 * c.engine_tokens + 6400
            OR 100 * c.engine_tokens > 120 * c.gateway_tokens + 6400
        )
)
SELECT
    f.exchange_id,
    f.contradiction AS finding_key,
    f.contradiction,
    MAX(f.prompt_tokens) AS prompt_tokens,
    MAX(f.cached_tokens) AS cached_tokens,
    MAX(f.other_tokens) AS other_tokens
FROM found AS f
JOIN exchanges AS e ON e.exchange_id = f.exchange_id
WHERE e.in_window
GROUP BY f.exchange_id, f.contradiction
ORDER BY f.exchange_id, f.contradiction
