-- id: funnel
-- title: from all responses down to the graded ones
-- needs: responses, exchanges
-- version: 1
-- why: every step says what it takes away; over the pool and over the engine's limit are two
--      counts, because an engine rejects a few tokens before the pool is full
WITH flags AS (
    SELECT
        CASE WHEN over_pool THEN 1 ELSE 0 END AS over_pool,
        CASE WHEN over_limit THEN 1 ELSE 0 END AS over_limit,
        CASE WHEN over_limit AND accepted THEN 1 ELSE 0 END AS accepted,
        CASE WHEN exposed THEN 1 ELSE 0 END AS exposed,
        CASE WHEN exposed AND excluded IS NULL THEN 1 ELSE 0 END AS counted,
        CASE
            WHEN exposed AND excluded IS NULL AND disclosure IN ('proven', 'likely') THEN 1
            ELSE 0
        END AS disclosed,
        CASE WHEN exposed AND excluded IS NULL THEN grade ELSE '' END AS grade
    FROM responses
    WHERE NOT aborted
    UNION ALL
    -- Refusals handed nothing over: they count until acceptance is asked for.
    SELECT
        CASE WHEN prompt_tokens > pool_tokens THEN 1 ELSE 0 END AS over_pool,
        CASE WHEN prompt_tokens >= reject_at_tokens THEN 1 ELSE 0 END AS over_limit,
        0 AS accepted,
        0 AS exposed,
        0 AS counted,
        0 AS disclosed,
        '' AS grade
    FROM exchanges
    WHERE client_facing AND NOT delivered AND in_window
        AND COALESCE(outcome, 'unknown') <> 'aborted'
),
sums AS (
    SELECT
        COUNT(*) AS total,
        COALESCE(SUM(over_pool), 0) AS over_pool,
        COALESCE(SUM(over_limit), 0) AS over_limit,
        COALESCE(SUM(accepted), 0) AS accepted,
        COALESCE(SUM(exposed), 0) AS exposed,
        COALESCE(SUM(counted), 0) AS counted,
        COALESCE(SUM(disclosed), 0) AS disclosed,
        COALESCE(SUM(CASE WHEN grade = 'confirmed' THEN 1 ELSE 0 END), 0) AS confirmed,
        COALESCE(SUM(CASE WHEN grade = 'probable' THEN 1 ELSE 0 END), 0) AS probable,
        COALESCE(SUM(CASE WHEN grade = 'possible' THEN 1 ELSE 0 END), 0) AS possible
    FROM flags
),
stages AS (
    SELECT 1 AS place, 'all' AS stage, 'all responses, refusals included' AS label
    UNION ALL SELECT 2, 'over_pool', 'prompt over the pool'
    UNION ALL SELECT 3, 'over_limit', 'prompt at or over the limit of the engine'
    UNION ALL SELECT 4, 'accepted', 'accepted with 200 and tokens generated'
    UNION ALL SELECT 5, 'exposed', 'exposed by any finding'
    UNION ALL SELECT 6, 'counted', 'internal and researcher tenants removed'
    UNION ALL SELECT 7, 'disclosed', 'with foreign text, proven or likely'
    UNION ALL SELECT 8, 'confirmed', 'graded confirmed'
    UNION ALL SELECT 9, 'probable', 'graded probable'
    UNION ALL SELECT 10, 'possible', 'graded possible'
)
SELECT
    g.place,
    g.stage,
    g.label,
    CASE g.stage
        WHEN 'all' THEN s.total
        WHEN 'over_pool' THEN s.over_pool
        WHEN 'over_limit' THEN s.over_limit
        WHEN 'accepted' THEN s.accepted
        WHEN 'exposed' THEN s.exposed
        WHEN 'counted' THEN s.counted
        WHEN 'disclosed' THEN s.disclosed
        WHEN 'confirmed' THEN s.confirmed
        WHEN 'probable' THEN s.probable
        WHEN 'possible' THEN s.possible
    END AS responses
FROM stages AS g
CROSS JOIN sums AS s
ORDER BY g.place
