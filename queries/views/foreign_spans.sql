-- id: foreign_spans
-- title: overlap rows that count as foreign text, with the disclosure each one supports
-- needs: overlaps, exchanges, exposed_calls, cache_askers, leak_points, score_points
-- keep: rows
-- version: 3
-- why: one independent carrier, twelve words, and a direction in time; all else is shared text.
--      Outside the known exposure all evidence of that tenant in the answer must also weigh enough
--      (leak_points), and the questions must differ: models say the same things to the same
--      question, and stock phrases to any.
--      Counts over fewer than 500 exchanges say too little for that
WITH held AS (
    -- Since when a tenant has had text in the memory of a process.
    SELECT share_group, tenant, MIN(t_start) AS first_time
    FROM exchanges
    WHERE share_group IS NOT NULL AND tenant IS NOT NULL AND role <> 'prefill'
    GROUP BY share_group, tenant
),
traffic AS (
    SELECT COUNT(*) >= 500 AS counted FROM exchanges
),
eligible AS (
    SELECT
        o.exchange_id,
        e.call_id,
        o.source_exchange_id,
        o.source_tenant,
        o.source_side,
        o.source_field,
        o.field,
        o.response_start,
        o.response_end,
        o.source_start,
        o.source_end,
        o.tokens,
        o.novel_tokens,
        o.novel_weight,
        o.carriers,
        COALESCE(o.source_carries, TRUE) AS source_carries,
        o.lag_ms,
        COALESCE(o."order", 'unknown') AS time_order,
        o.same_share_group,
        -- The row names the earliest source; a later one of that tenant may have been nearer.
        NOT COALESCE(o.memory_gone, FALSE)
            OR COALESCE(m.first_time <= e.t_start, FALSE) AS memory_possible,
        o.turnovers,
        o.surprise_millibits,
        o.own_fit_permille,
        o.prompt_similarity_permille,
        COALESCE(o.at_cut, FALSE) AS at_cut,
        o.span_hmac,
        COALESCE(e.own_prompt_complete, FALSE) AS own_prompt_complete,
        COALESCE(x.exposure_rank, 0) > 0 AS exposed,
        COALESCE(x.exposure_rank, 0) > 0 AND COALESCE(x.firm, 0) = 0 AS limit_band,
        COALESCE(x.firm, 0) = 1 AS firm
    FROM "overlaps" AS o
    JOIN exchanges AS e ON e.exchange_id = o.exchange_id
    LEFT JOIN exposed_calls AS x ON x.call_id = e.call_id
    LEFT JOIN held AS m ON m.share_group = e.share_group AND m.tenant = o.source_tenant
    CROSS JOIN traffic AS w
    LEFT JOIN leak_points AS p
        ON p.exchange_id = o.exchange_id AND p.source_tenant = o.source_tenant
    LEFT JOIN score_points AS c ON c.term = 'cut'
    LEFT JOIN cache_askers AS k ON k.prompt_hmac = e.prompt_hmac AND k.tenant = o.source_tenant
    WHERE e.in_window
        AND o.novel_weight >= 24
        AND o.carriers = 1
        AND COALESCE(o."order", 'unknown') <> 'after'
        -- Two answers in flight together: which one came first is unknown.
        AND NOT (
            o.source_side = 'response'
            AND COALESCE(o."order", 'unknown') = 'overlap'
            AND COALESCE(o.lag_ms, 0) <= 0
        )
        AND (
            COALESCE(x.exposure_rank, 0) > 0
            OR NOT w.counted
            OR o.surprise_millibits IS NULL
            OR (
                COALESCE(o.prompt_similarity_permille, 0) < 500
                AND COALESCE(p.points >= c.millinats, FALSE)
            )
        )
        -- The gateway's cache handed over the answer to the same prompt of that tenant.
        AND NOT (COALESCE(e.cache_hit, FALSE) AND COALESCE(k.first_time < e.t_start, FALSE))
)
SELECT
    r.exchange_id,
    r.call_id,
    r.source_exchange_id,
    r.source_tenant,
    r.source_side,
    r.source_field,
    r.field,
    r.response_start,
    r.response_end,
    r.source_start,
    r.source_end,
    r.tokens,
    r.novel_tokens,
    r.novel_weight,
    r.carriers,
    r.source_carries,
    r.lag_ms,
    r.time_order,
    r.same_share_group,
    r.memory_possible,
    r.turnovers,
    r.surprise_millibits,
    r.own_fit_permille,
    r.prompt_similarity_permille,
    r.at_cut,
    r.span_hmac,
    r.own_prompt_complete,
    r.exposed,
    r.limit_band,
    CASE
        WHEN r.firm
            -- Memory that the two cannot have shared proves nothing.
            AND r.memory_possible
            AND COALESCE(r.prompt_similarity_permille, 0) < 500
            AND (
                r.time_order = 'before'
                OR (r.time_order = 'overlap' AND r.source_side = 'prompt' AND r.lag_ms >= 0)
                OR (r.time_order = 'overlap' AND r.source_side = 'response' AND r.lag_ms > 0)
            )
            THEN 'proven'
        ELSE 'likely'
    END AS disclosure
FROM eligible AS r
-- A victim that repeats the text is not its owner: the owner's row stands for it.
WHERE NOT (
    NOT r.source_carries
    AND EXISTS (
        SELECT 1
        FROM eligible AS c
        WHERE c.exchange_id = r.exchange_id
            AND c.field = r.field
            AND c.source_carries
            AND c.response_start < r.response_end
            AND c.response_end > r.response_start
            AND 2 * c.novel_weight >= r.novel_weight
    )
)
