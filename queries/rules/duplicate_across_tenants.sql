-- id: duplicate_across_tenants
-- title: two tenants got the same long answer to different questions
-- severity: column
-- disclosure: column
-- needs: duplicates, exchanges, exposed_calls, attributions
-- version: 1
-- why: an answer of thirty words and more does not come twice to questions that share nothing. Same
--      questions, gateway caches and stock answers (refusals, greetings: more than two tenants) are
--      told apart; retries and choices of one call never reach the table. It counts as foreign text
--      where the earlier answer fits its own question and this one does not: where it is the other
--      way round, the earlier answer is the one that went astray
WITH judged AS (
    SELECT
        d.exchange_id,
        d.source_exchange_id,
        d.source_tenant,
        d.field,
        d.source_field,
        d.tokens,
        d.same_text,
        d.similarity_permille,
        d.prompt_similarity_permille,
        d.tenants,
        d.lag_ms,
        d.same_share_group,
        COALESCE(x.exposure_rank, 0) > 0 AS exposed,
        a.own_rank,
        a.own_score,
        b.own_rank AS source_own_rank,
        b.own_score AS source_own_score,
        CASE
            WHEN a.own_rank > 1 AND (b.own_rank = 1 OR b.own_score > a.own_score) THEN 1
            ELSE 0
        END AS fits_source_only,
        CASE
            WHEN a.own_rank = 1 AND b.own_rank > 1 AND a.own_score > b.own_score THEN 1
            ELSE 0
        END AS source_astray
    FROM duplicates AS d
    JOIN exchanges AS e ON e.exchange_id = d.exchange_id
    LEFT JOIN exposed_calls AS x ON x.call_id = e.call_id
    LEFT JOIN attributions AS a ON a.exchange_id = d.exchange_id
    LEFT JOIN attributions AS b ON b.exchange_id = d.source_exchange_id
    WHERE e.in_window
        AND NOT COALESCE(e.cache_hit, FALSE)
        AND NOT COALESCE(d.same_prompt, FALSE)
        AND d.tenant IS NOT NULL
        AND d.source_tenant IS NOT NULL
        AND d.tenants = 2
        AND d.tokens >= 30
        AND (d.same_text OR d.similarity_permille >= 800)
        AND COALESCE(d.prompt_similarity_permille, 0) < 300
),
ranked AS (
    SELECT
        j.*,
        ROW_NUMBER() OVER (
            PARTITION BY j.exchange_id, j.source_tenant
            ORDER BY
                j.similarity_permille DESC,
                j.tokens DESC,
                j.lag_ms,
                j.source_exchange_id,
                j.field,
                j.source_field
        ) AS place
    FROM judged AS j
    WHERE j.source_astray = 0
)
SELECT
    exchange_id,
    source_exchange_id,
    source_tenant,
    CASE WHEN fits_source_only = 1 OR exposed THEN 'high' ELSE 'low' END AS severity,
    CASE WHEN fits_source_only = 1 OR exposed THEN 'likely' END AS disclosure,
    field,
    source_field,
    tokens,
    same_text,
    similarity_permille,
    prompt_similarity_permille,
    tenants,
    lag_ms,
    same_share_group,
    own_rank,
    own_score,
    source_own_rank,
    source_own_score,
    exposed
FROM ranked
WHERE place = 1
ORDER BY exchange_id, source_tenant
