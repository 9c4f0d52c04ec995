-- id: receiver_habits
-- title: over-limit calls of each receiving tenant against its own habit
-- needs: exposure, exchanges, findings
-- version: 2
-- why: whether someone sought the fault is asked again and again; lengths close above the limit,
--      the same prompt or the same length sent over and over, padding (bytes a token unlike the own
--      habit), and more of it after foreign text came back are unusual, and never a verdict
WITH calls AS (
    SELECT
        x.call_id,
        d.tenant,
        MIN(d.t_start) AS t_start,
        MAX(x.prompt_tokens) AS prompt_tokens,
        MAX(x.reject_at_tokens) AS reject_at_tokens,
        MAX(CASE WHEN x.over_limit THEN 1 ELSE 0 END) AS over_limit,
        MIN(d.prompt_hmac) AS prompt_hmac,
        MAX(CASE WHEN d.prompt_state = 'full' THEN d.prompt_bytes END) AS prompt_bytes
    FROM exposure AS x
    JOIN exchanges AS d ON d.exchange_id = x.exchange_id
    WHERE d.tenant IS NOT NULL AND x.accepted
    GROUP BY x.call_id, d.tenant
),
received AS (
    SELECT tenant, MIN(event_time) AS first_received
    FROM findings
    WHERE rule_id IN ('foreign_prompt_overlap', 'foreign_response_overlap')
    GROUP BY tenant
),
repeats AS (
    SELECT tenant, prompt_hmac, COUNT(*) AS times
    FROM calls
    WHERE over_limit = 1 AND prompt_hmac IS NOT NULL
    GROUP BY tenant, prompt_hmac
),
most_repeated AS (
    SELECT tenant, MAX(times) AS same_prompt
    FROM repeats
    GROUP BY tenant
),
lengths AS (
    SELECT tenant, prompt_tokens, COUNT(*) AS times
    FROM calls
    WHERE over_limit = 1
    GROUP BY tenant, prompt_tokens
),
most_alike AS (
    SELECT tenant, MAX(times) AS same_length
    FROM lengths
    GROUP BY tenant
),
usual AS (
    SELECT
        tenant,
        CAST(SUM(prompt_bytes) AS DOUBLE) AS usual_bytes,
        CAST(SUM(prompt_tokens) AS DOUBLE) AS usual_tokens
    FROM calls
    WHERE over_limit = 0 AND prompt_bytes > 0 AND prompt_tokens > 0
    GROUP BY tenant
),
habits AS (
    SELECT
        c.tenant,
        COUNT(*) AS calls,
        SUM(c.over_limit) AS over_limit_calls,
        MAX(CASE WHEN c.over_limit = 0 THEN c.prompt_tokens END) AS longest_below,
        MIN(
            CASE WHEN c.over_limit = 1 THEN c.prompt_tokens - c.reject_at_tokens END
        ) AS closest_above_limit,
        SUM(
            CASE
                WHEN c.over_limit = 1
                    AND 100 * (c.prompt_tokens - c.reject_at_tokens) <= c.reject_at_tokens
                    THEN 1
                ELSE 0
            END
        ) AS close_above_limit,
        SUM(
            CASE WHEN c.over_limit = 1 AND c.t_start > r.first_received THEN 1 ELSE 0 END
        ) AS over_limit_after_receipt,
        SUM(
            CASE WHEN c.over_limit = 1 AND c.t_start < r.first_received THEN 1 ELSE 0 END
        ) AS over_limit_before_receipt,
        -- Fewer than half or more than twice as many bytes a token as this tenant's own prompts.
        SUM(
            CASE
                WHEN c.over_limit = 1
                    AND (
                        2 * c.prompt_bytes * u.usual_tokens < u.usual_bytes * c.prompt_tokens
                        OR c.prompt_bytes * u.usual_tokens > 2 * u.usual_bytes * c.prompt_tokens
                    )
                    THEN 1
                ELSE 0
            END
        ) AS padded
    FROM calls AS c
    LEFT JOIN received AS r ON r.tenant = c.tenant
    LEFT JOIN usual AS u ON u.tenant = c.tenant
    GROUP BY c.tenant
)
SELECT
    h.tenant,
    h.calls,
    CAST(h.over_limit_calls AS BIGINT) AS over_limit_calls,
    h.longest_below AS longest_prompt_below_limit,
    h.closest_above_limit,
    CAST(h.close_above_limit AS BIGINT) AS close_above_limit,
    COALESCE(m.same_prompt, 0) AS same_prompt,
    COALESCE(k.same_length, 0) AS same_length,
    CAST(h.padded AS BIGINT) AS padded,
    CAST(h.over_limit_before_receipt AS BIGINT) AS over_limit_before_receipt,
    CAST(h.over_limit_after_receipt AS BIGINT) AS over_limit_after_receipt,
    CASE
        WHEN h.calls < 10 THEN 'not assessable'
        WHEN COALESCE(m.same_prompt, 0) >= 5 OR COALESCE(k.same_length, 0) >= 5 THEN 'unusual'
        WHEN h.padded >= 3 AND 2 * h.padded > h.over_limit_calls THEN 'unusual'
        WHEN h.close_above_limit >= 5 AND 2 * h.close_above_limit > h.over_limit_calls
            THEN 'unusual'
        WHEN h.over_limit_after_receipt >= 5
            AND 2 * h.over_limit_after_receipt > h.over_limit_calls
            AND 2 * h.over_limit_calls > h.calls
            THEN 'unusual'
        ELSE 'consistent with normal use'
    END AS reading
FROM habits AS h
LEFT JOIN most_repeated AS m ON m.tenant = h.tenant
LEFT JOIN most_alike AS k ON k.tenant = h.tenant
WHERE h.over_limit_calls > 0
ORDER BY over_limit_calls DESC, tenant
