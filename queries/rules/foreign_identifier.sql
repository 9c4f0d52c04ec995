-- id: foreign_identifier
-- title: an identifier that one other tenant alone had sent stands in a response
-- severity: column
-- disclosure: column
-- needs: identifiers, exchanges, exposed_calls, findings, cache_askers
-- version: 1
-- why: nobody guesses an account, a key or an address; who has it from neither prompt nor history
--      was shown it
WITH eligible AS (
    SELECT
        i.exchange_id,
        i.source_exchange_id,
        i.source_tenant,
        i.source_side,
        i.source_field,
        i.field,
        i.kind,
        i.pattern,
        i.value_hmac,
        i.masked,
        i.value_bits,
        i.checked,
        i.response_start,
        i.response_end,
        i.source_start,
        i.source_end,
        i.carriers,
        i.lag_ms,
        COALESCE(i."order", 'unknown') AS time_order,
        i.same_share_group,
        COALESCE(e.own_prompt_complete, FALSE) AS own_prompt_complete,
        COALESCE(x.exposure_rank, 0) > 0 AS exposed,
        COALESCE(x.exposure_rank, 0) > 0 AND COALESCE(x.firm, 0) = 0 AS limit_band,
        COALESCE(x.firm, 0) = 1 AS firm
    FROM identifiers AS i
    JOIN exchanges AS e ON e.exchange_id = i.exchange_id
    LEFT JOIN exposed_calls AS x ON x.call_id = e.call_id
    LEFT JOIN cache_askers AS k ON k.prompt_hmac = e.prompt_hmac AND k.tenant = i.source_tenant
    WHERE e.in_window
        AND i.kind <> 'canary'
        AND NOT i.in_own_prompt
        AND NOT i.in_own_history
        AND i.carriers = 1
        AND i.source_carries
        AND COALESCE(i."order", 'unknown') <> 'after'
        -- What two answers share the model may know: it needs an exposed answer and a first one.
        AND (
            i.source_side = 'prompt'
            OR (
                COALESCE(x.exposure_rank, 0) > 0
                AND (COALESCE(i."order", 'unknown') <> 'overlap' OR COALESCE(i.lag_ms, 0) > 0)
            )
        )
        -- The gateway's cache handed over the answer to the same prompt of that tenant.
        AND NOT (COALESCE(e.cache_hit, FALSE) AND COALESCE(k.first_time < e.t_start, FALSE))
),
outermost AS (
    -- A token inside a path or a link is not told twice.
    SELECT r.*
    FROM eligible AS r
    WHERE NOT EXISTS (
        SELECT 1
        FROM eligible AS c
        WHERE c.exchange_id = r.exchange_id
            AND c.field = r.field
            AND c.source_tenant = r.source_tenant
            AND c.response_start <= r.response_start
            AND c.response_end >= r.response_end
            AND c.response_end - c.response_start > r.response_end - r.response_start
    )
),
ranked AS (
    SELECT
        o.*,
        ROW_NUMBER() OVER (
            PARTITION BY o.exchange_id, o.source_tenant
            ORDER BY
                o.value_bits DESC,
                o.lag_ms DESC NULLS LAST,
                o.field,
                o.response_start,
                o.value_hmac
        ) AS place,
        ROW_NUMBER() OVER (
            PARTITION BY o.exchange_id, o.source_tenant, o.value_hmac
            ORDER BY o.value_bits DESC, o.field, o.response_start
        ) AS copy
    FROM outermost AS o
),
weighed AS (
    SELECT
        exchange_id,
        source_tenant,
        COUNT(*) AS identifiers,
        CAST(SUM(value_bits) AS BIGINT) AS joint_bits
    FROM ranked
    WHERE copy = 1
    GROUP BY exchange_id, source_tenant
)
SELECT
    r.exchange_id,
    r.source_exchange_id,
    r.source_tenant,
    CASE
        WHEN r.firm AND w.joint_bits >= 60 AND COALESCE(r.same_share_group, TRUE)
            AND (r.time_order = 'before' OR (r.time_order = 'overlap' AND r.lag_ms >= 0))
            THEN 'critical'
        ELSE 'high'
    END AS severity,
    CASE
        WHEN r.firm AND w.joint_bits >= 60 AND COALESCE(r.same_share_group, TRUE)
            AND (r.time_order = 'before' OR (r.time_order = 'overlap' AND r.lag_ms >= 0))
            THEN 'proven'
        ELSE 'likely'
    END AS disclosure,
    r.field,
    r.kind,
    r.pattern,
    r.value_hmac,
    r.masked,
    r.value_bits,
    w.joint_bits,
    w.identifiers,
    r.checked,
    r.response_start,
    r.response_end,
    r.source_side,
    r.source_field,
    r.source_start,
    r.source_end,
    r.carriers,
    r.lag_ms,
    r.time_order AS "order",
    r.same_share_group,
    r.own_prompt_complete,
    r.exposed,
    r.limit_band
FROM ranked AS r
JOIN weighed AS w ON w.exchange_id = r.exchange_id AND w.source_tenant = r.source_tenant
WHERE r.place = 1 AND w.joint_bits >= 36
ORDER BY r.exchange_id, r.source_tenant
