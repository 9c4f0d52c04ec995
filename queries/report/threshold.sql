-- id: threshold
-- title: the prompt length from which answers go wrong, as the data show it, with a p-value
-- needs: exposure, exchanges, findings, handovers
-- version: 1
-- why: no configuration is asked: the longest clean and the shortest dirty prompt bracket the limit
--      of the pool; the cut that parts both best is taken, and the chance of such a parting is a
--      term of the hypergeometric distribution (Fisher), times the lengths tried; where dirty
--      answers lie below the cut it is an upper bound; log10_p below -3 is worth a look
WITH bad AS (
    SELECT DISTINCT call_id
    FROM findings
    WHERE call_id IS NOT NULL
        AND (
            rule_id IN ('foreign_prompt_overlap', 'foreign_response_overlap')
            OR (
                rule_id IN (
                    'pd_input_length_mismatch',
                    'prefill_stub',
                    'rejected_but_answered',
                    'impossible_first_token',
                    'pd_short_transfer'
                )
                AND COALESCE(exposure, '') IN ('likely', 'proven')
            )
        )
),
nodes AS (
    SELECT call_id, MIN(node) AS node
    FROM (
        SELECT call_id, node FROM exchanges WHERE role IN ('prefill', 'unified')
        UNION ALL
        SELECT call_id, prefill_node AS node FROM handovers WHERE call_id IS NOT NULL
    ) AS told
    WHERE node IS NOT NULL
    GROUP BY call_id
),
prompts AS (
    SELECT
        x.exchange_id,
        COALESCE(d.model, '') AS model,
        n.node,
        x.prompt_tokens AS tokens,
        CASE WHEN b.call_id IS NULL THEN 0 ELSE 1 END AS dirty
    FROM exposure AS x
    JOIN exchanges AS d ON d.exchange_id = x.exchange_id
    LEFT JOIN nodes AS n ON n.call_id = x.call_id
    LEFT JOIN bad AS b ON b.call_id = x.call_id
    WHERE x.accepted AND x.prompt_tokens > 1 AND NOT COALESCE(d.cache_hit, FALSE)
),
scoped AS (
    SELECT exchange_id, model, 'all nodes' AS node, tokens, dirty
    FROM prompts
    UNION ALL
    SELECT exchange_id, model, node, tokens, dirty
    FROM prompts
    WHERE node IS NOT NULL
),
totals AS (
    SELECT
        model,
        node,
        COUNT(*) AS prompts,
        CAST(SUM(dirty) AS BIGINT) AS dirty,
        COUNT(DISTINCT tokens) AS lengths
    FROM scoped
    GROUP BY model, node
),
lengths AS (
    SELECT model, node, tokens, COUNT(*) AS prompts, CAST(SUM(dirty) AS BIGINT) AS dirty
    FROM scoped
    GROUP BY model, node, tokens
),
over_length AS (
    SELECT
        model,
        node,
        tokens,
        dirty,
        CAST(
            SUM(prompts) OVER (
                PARTITION BY model, node ORDER BY tokens DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS BIGINT
        ) AS prompts_from,
        CAST(
            SUM(dirty) OVER (
                PARTITION BY model, node ORDER BY tokens DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS BIGINT
        ) AS dirty_from
    FROM lengths
),
ranked AS (
    SELECT
        o.model,
        o.node,
        o.tokens AS cut,
        o.prompts_from,
        o.dirty_from,
        t.prompts,
        t.dirty,
        t.lengths,
        ROW_NUMBER() OVER (
            PARTITION BY o.model, o.node
            ORDER BY
                o.dirty_from * (t.prompts - t.dirty)
                - (o.prompts_from - o.dirty_from) * t.dirty DESC,
                o.tokens
        ) AS cut_rank
    FROM over_length AS o
    JOIN totals AS t ON t.model = o.model AND t.node = o.node
    WHERE o.dirty > 0
),
numbered AS (
    SELECT
        r.model,
        r.node,
        r.prompts_from,
        r.dirty_from,
        r.prompts,
        r.dirty,
        ROW_NUMBER() OVER (PARTITION BY r.model, r.node ORDER BY s.tokens, s.exchange_id) - 1 AS i
    FROM ranked AS r
    JOIN scoped AS s ON s.model = r.model AND s.node = r.node AND s.tokens >= r.cut
    WHERE r.cut_rank = 1 AND s.dirty = 1
),
chance AS (
    SELECT
        model,
        node,
        SUM(
            LN(CAST(prompts_from - i AS DOUBLE) / CAST(prompts - i AS DOUBLE))
            + LN(CAST(dirty - i AS DOUBLE) / CAST(dirty_from - i AS DOUBLE))
        ) AS ln_p
    FROM numbered
    GROUP BY model, node
),
clean AS (
    SELECT r.model, r.node, MAX(s.tokens) AS longest_clean
    FROM ranked AS r
    JOIN scoped AS s ON s.model = r.model AND s.node = r.node AND s.tokens < r.cut
    WHERE r.cut_rank = 1 AND s.dirty = 0
    GROUP BY r.model, r.node
)
SELECT
    r.model,
    r.node,
    c.longest_clean AS longest_clean_tokens,
    r.cut AS shortest_dirty_tokens,
    -- SGLang refuses from six tokens below the pool on.
    c.longest_clean + 7 AS implied_pool_from_tokens,
    r.cut + 6 AS implied_pool_to_tokens,
    r.dirty_from AS dirty_from_there,
    r.prompts_from - r.dirty_from AS clean_from_there,
    r.dirty - r.dirty_from AS dirty_below,
    r.prompts - r.prompts_from - (r.dirty - r.dirty_from) AS clean_below,
    CASE
        WHEN p.ln_p + LN(CAST(r.lengths AS DOUBLE)) > 0 THEN CAST(0 AS DOUBLE)
        ELSE ROUND((p.ln_p + LN(CAST(r.lengths AS DOUBLE))) / LN(CAST(10 AS DOUBLE)), 2)
    END AS log10_p
FROM ranked AS r
JOIN chance AS p ON p.model = r.model AND p.node = r.node
LEFT JOIN clean AS c ON c.model = r.model AND c.node = r.node
WHERE r.cut_rank = 1
ORDER BY r.model, r.node
