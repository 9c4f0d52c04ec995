-- id: long_control
-- title: prompts as long as those over the limit, by how they were served, and what shows in them
-- needs: exchanges, exposure, findings, capacity, handovers
-- version: 1
-- why: one process that does both, a node whose pool holds the prompt and a fixed engine that
--      refuses are the negative control: the same long prompts must stay silent there
WITH shortest AS (
    SELECT MIN(prompt_tokens) AS tokens
    FROM exposure
    WHERE over_limit
),
nodes AS (
    SELECT call_id, MIN(node) AS node, MIN(capacity_id) AS capacity_id
    FROM exchanges
    WHERE role IN ('prefill', 'unified') AND node IS NOT NULL
    GROUP BY call_id
),
handed AS (
    SELECT call_id, MIN(prefill_node) AS node
    FROM handovers
    WHERE call_id IS NOT NULL
    GROUP BY call_id
),
shown AS (
    SELECT DISTINCT call_id
    FROM findings
    WHERE call_id IS NOT NULL
        AND rule_id <> 'over_pool_accepted'
        AND (exposure IN ('likely', 'proven') OR disclosure IN ('likely', 'proven'))
),
asked AS (
    -- One row a call.
    SELECT
        e.call_id,
        MAX(COALESCE(x.prompt_tokens, e.prompt_tokens)) AS prompt_tokens,
        MAX(COALESCE(x.reject_at_tokens, e.reject_at_tokens)) AS reject_at_tokens,
        MIN(COALESCE(x.capacity_id, e.capacity_id)) AS capacity_id,
        MAX(CASE WHEN x.accepted THEN 1 ELSE 0 END) AS answered,
        MAX(CASE WHEN e.http_status >= 400 OR e.outcome = 'rejected' THEN 1 ELSE 0 END) AS refused
    FROM exchanges AS e
    LEFT JOIN exposure AS x ON x.exchange_id = e.exchange_id
    WHERE e.client_facing AND e.in_window
    GROUP BY e.call_id
),
long AS (
    SELECT
        a.call_id,
        COALESCE(n.node, h.node, k.node) AS node,
        k.engine,
        k.engine_version,
        a.answered,
        CASE WHEN a.answered = 0 AND a.refused = 1 THEN 1 ELSE 0 END AS refused,
        CASE
            WHEN k.mode = 'unified' OR k.role = 'unified' THEN 'one_process'
            WHEN a.prompt_tokens < a.reject_at_tokens THEN 'pool_holds_it'
            WHEN a.answered = 0 AND a.refused = 1 THEN 'refused'
            WHEN a.prompt_tokens >= a.reject_at_tokens THEN 'over_the_limit'
            ELSE 'unknown'
        END AS served
    FROM asked AS a
    CROSS JOIN shortest AS s
    LEFT JOIN nodes AS n ON n.call_id = a.call_id
    LEFT JOIN handed AS h ON h.call_id = a.call_id
    LEFT JOIN capacity AS k ON k.capacity_id = COALESCE(n.capacity_id, a.capacity_id)
    WHERE a.prompt_tokens >= s.tokens
)
SELECT
    l.served,
    COALESCE(l.node, 'unknown') AS node,
    COALESCE(COALESCE(l.engine, '') || ' ' || l.engine_version, l.engine, 'unknown') AS version,
    COUNT(*) AS calls,
    CAST(SUM(l.answered) AS BIGINT) AS answered,
    CAST(SUM(l.refused) AS BIGINT) AS refused,
    CAST(SUM(CASE WHEN w.call_id IS NULL THEN 0 ELSE 1 END) AS BIGINT) AS with_finding
FROM long AS l
LEFT JOIN shown AS w ON w.call_id = l.call_id
GROUP BY l.served, l.node, l.engine, l.engine_version
ORDER BY l.served, node, version
