-- id: leak_evidence
-- title: response x tenant whose text it may show, with all that the tables measured about the two
-- needs: overlaps, fact_overlaps, identifiers, attributions, exchanges, cache_askers
-- keep: rows
-- version: 1
-- why: single signals are weak outside a known exposure; what several of them say of one source
--      tenant is weighed together (score_points), each as a plain integer
WITH judged AS (
    SELECT
        exchange_id,
        prompt_hmac,
        t_start,
        response_bytes,
        COALESCE(cache_hit, FALSE) AS cache_hit
    FROM exchanges
    WHERE in_window
),
spans AS (
    SELECT
        o.exchange_id,
        o.source_tenant,
        o.source_exchange_id,
        o.source_side,
        o.tokens,
        -- The passage is most of the answer.
        CASE
            WHEN 2 * (o.response_end - o.response_start) >= j.response_bytes THEN 1 ELSE 0
        END AS whole,
        o.surprise_millibits * (1000 - COALESCE(o.own_fit_permille, 0)) AS microbits,
        COALESCE(o.prompt_similarity_permille, 0) AS similarity,
        CASE
            WHEN COALESCE(o.memory_gone, FALSE) OR NOT COALESCE(o.same_share_group, TRUE) THEN 0
            WHEN o.same_share_group THEN 2
            ELSE 1
        END AS memory,
        ROW_NUMBER() OVER (
            PARTITION BY o.exchange_id, o.source_tenant
            ORDER BY
                o.surprise_millibits * (1000 - COALESCE(o.own_fit_permille, 0)) DESC,
                o.source_exchange_id,
                o.source_side,
                o.field,
                o.response_start,
                o.source_start
        ) AS place
    FROM "overlaps" AS o
    JOIN judged AS j ON j.exchange_id = o.exchange_id
    LEFT JOIN cache_askers AS k ON k.prompt_hmac = j.prompt_hmac AND k.tenant = o.source_tenant
    WHERE o.chain_bits IS NULL
        AND o.source_tenant IS NOT NULL
        AND o.novel_weight >= 24
        AND o.carriers = 1
        AND o.surprise_millibits IS NOT NULL
        AND COALESCE(o."order", 'unknown') <> 'after'
        AND NOT (
            o.source_side = 'response'
            AND COALESCE(o."order", 'unknown') = 'overlap'
            AND COALESCE(o.lag_ms, 0) <= 0
        )
        AND NOT (j.cache_hit AND COALESCE(k.first_time < j.t_start, FALSE))
),
mosaics AS (
    SELECT
        o.exchange_id,
        o.source_tenant,
        MAX(o.chain_bits) AS mosaic_bits,
        MAX(COALESCE(o.prompt_similarity_permille, 0)) AS similarity,
        MAX(CASE WHEN o.same_share_group THEN 2 WHEN o.same_share_group IS NULL THEN 1 ELSE 0 END)
            AS memory
    FROM "overlaps" AS o
    JOIN judged AS j ON j.exchange_id = o.exchange_id
    WHERE o.chain_bits IS NOT NULL
        AND o.source_tenant IS NOT NULL
        AND NOT j.cache_hit
        AND COALESCE(o."order", 'unknown') <> 'after'
        AND NOT (
            o.source_side = 'response'
            AND COALESCE(o."order", 'unknown') = 'overlap'
            AND COALESCE(o.lag_ms, 0) <= 0
        )
    GROUP BY o.exchange_id, o.source_tenant
),
facts AS (
    SELECT
        f.exchange_id,
        f.source_tenant,
        MAX(f.score_millibits) AS fact_millibits,
        MAX(COALESCE(f.prompt_similarity_permille, 0)) AS similarity,
        MAX(CASE WHEN f.same_share_group THEN 2 WHEN f.same_share_group IS NULL THEN 1 ELSE 0 END)
            AS memory
    FROM fact_overlaps AS f
    JOIN judged AS j ON j.exchange_id = f.exchange_id
    WHERE f.source_tenant IS NOT NULL
        AND NOT j.cache_hit
        AND NOT (
            f.source_field <> 'prompt'
            AND COALESCE(f."order", 'unknown') = 'overlap'
            AND f.lag_ms <= 0
        )
    GROUP BY f.exchange_id, f.source_tenant
),
marks AS (
    SELECT
        i.exchange_id,
        i.source_tenant,
        MAX(i.value_bits) AS identifier_bits,
        MAX(CASE WHEN i.same_share_group THEN 2 WHEN i.same_share_group IS NULL THEN 1 ELSE 0 END)
            AS memory
    FROM identifiers AS i
    JOIN judged AS j ON j.exchange_id = i.exchange_id
    LEFT JOIN cache_askers AS k ON k.prompt_hmac = j.prompt_hmac AND k.tenant = i.source_tenant
    WHERE i.kind <> 'canary'
        AND i.source_tenant IS NOT NULL
        AND i.source_side = 'prompt'
        AND i.carriers = 1
        AND i.source_carries
        AND NOT i.in_own_prompt
        AND NOT i.in_own_history
        AND COALESCE(i."order", 'unknown') <> 'after'
        AND NOT (j.cache_hit AND COALESCE(k.first_time < j.t_start, FALSE))
    GROUP BY i.exchange_id, i.source_tenant
),
canaries AS (
    SELECT i.exchange_id, i.source_tenant, 1 AS canary
    FROM identifiers AS i
    JOIN judged AS j ON j.exchange_id = i.exchange_id
    WHERE i.kind = 'canary' AND i.source_tenant IS NOT NULL
    GROUP BY i.exchange_id, i.source_tenant
),
swaps AS (
    -- Another tenant's prompt explains the answer better than its own does; by how many steps
    -- beyond chance.
    SELECT
        a.exchange_id,
        a.best_tenant AS source_tenant,
        CASE
            WHEN a.p_value <= 0.0001 THEN 4
            WHEN a.p_value <= 0.0003 THEN 3
            WHEN a.p_value <= 0.001 THEN 2
            WHEN a.p_value <= 0.005 THEN 1
            ELSE 0
        END AS steps,
        CASE WHEN a.same_node THEN 2 WHEN a.same_node IS NULL THEN 1 ELSE 0 END AS memory
    FROM attributions AS a
    JOIN judged AS j ON j.exchange_id = a.exchange_id
    WHERE a.assessable
        AND a.best_tenant IS NOT NULL
        AND COALESCE(a.own_rank, 2) > 1
        AND NOT j.cache_hit
),
pairs AS (
    SELECT exchange_id, source_tenant FROM spans WHERE place = 1
    UNION
    SELECT exchange_id, source_tenant FROM mosaics
    UNION
    SELECT exchange_id, source_tenant FROM facts
    UNION
    SELECT exchange_id, source_tenant FROM marks
    UNION
    SELECT exchange_id, source_tenant FROM canaries
    UNION
    SELECT exchange_id, source_tenant FROM swaps WHERE steps > 0
)
SELECT
    p.exchange_id,
    p.source_tenant,
    COALESCE(s.microbits, 0) AS span_microbits,
    COALESCE(
        CAST(FLOOR(CAST(s.microbits AS DOUBLE) / CAST(s.tokens AS DOUBLE)) AS BIGINT), 0
    ) AS word_microbits,
    COALESCE(m.mosaic_bits, 0) AS mosaic_bits,
    COALESCE(f.fact_millibits, 0) AS fact_millibits,
    COALESCE(i.identifier_bits, 0) AS identifier_bits,
    COALESCE(c.canary, 0) AS canary,
    COALESCE(w.steps, 0) AS swap_steps,
    CASE WHEN a.own_score < 0 THEN COALESCE(w.steps, 0) ELSE 0 END AS swap_steps_silent,
    CASE WHEN w.exchange_id IS NOT NULL THEN 1 ELSE 0 END AS fits_source,
    COALESCE(s.similarity, f.similarity, m.similarity, 0) AS similarity_permille,
    COALESCE(s.memory, m.memory, f.memory, i.memory, w.memory, 1) AS memory,
    -- The same answer, which fits this question and not that of the source: it came from there.
    CASE
        WHEN s.source_side = 'response'
            AND s.whole = 1
            AND COALESCE(b.own_rank, 1) > 1
            AND COALESCE(a.own_rank, 2) = 1
            AND a.own_score - b.own_score >= 20000
            THEN 1
        ELSE 0
    END AS source_astray
FROM pairs AS p
LEFT JOIN spans AS s
    ON s.exchange_id = p.exchange_id AND s.source_tenant = p.source_tenant AND s.place = 1
LEFT JOIN mosaics AS m ON m.exchange_id = p.exchange_id AND m.source_tenant = p.source_tenant
LEFT JOIN facts AS f ON f.exchange_id = p.exchange_id AND f.source_tenant = p.source_tenant
LEFT JOIN marks AS i ON i.exchange_id = p.exchange_id AND i.source_tenant = p.source_tenant
LEFT JOIN canaries AS c ON c.exchange_id = p.exchange_id AND c.source_tenant = p.source_tenant
LEFT JOIN swaps AS w ON w.exchange_id = p.exchange_id AND w.source_tenant = p.source_tenant
LEFT JOIN attributions AS a ON a.exchange_id = p.exchange_id
LEFT JOIN attributions AS b ON b.exchange_id = s.source_exchange_id
