-- id: truncation_asymmetry
-- title: prefill cuts long prompts that decode keeps whole
-- severity: low
-- needs: capacity
-- version: 1
-- why: a configuration warning from reading the engine's source, seen by nobody yet: with automatic
--      truncation the smaller prefill pool cuts a prompt that the larger decode pool does not, and
--      nothing compares the two
SELECT
    CAST(NULL AS VARCHAR) AS exchange_id,
    p.capacity_id AS finding_key,
    p.valid_from AS event_time,
    p.node,
    p.deployment,
    p.pool_tokens AS prefill_pool_tokens,
    MAX(d.pool_tokens) AS decode_pool_tokens,
    MAX(p.engine_version) AS engine_version,
    MAX(p.source) AS source
FROM capacity AS p
JOIN capacity AS d ON d.role = 'decode' AND d.pool_tokens > p.pool_tokens
WHERE p.role = 'prefill'
    AND ' ' || p.flags || ' ' LIKE '% allow_auto_truncate=true %'
    AND (p.deployment IS NULL OR d.deployment IS NULL OR p.deployment = d.deployment)
    AND (p.model IS NULL OR d.model IS NULL OR p.model = d.model)
GROUP BY p.capacity_id, p.valid_from, p.node, p.deployment, p.pool_tokens
ORDER BY p.capacity_id
