-- id: billed_not_logged
-- title: what was billed against the calls that the logs hold, by interval and model
-- needs: engine_events, exchanges
-- version: 1
-- why: a call that was billed and is in no log was judged by nobody; large prompts are the ones
--      that gateways leave out
WITH billed AS (
    SELECT
        kind,
        model,
        t AS t_from,
        CASE
            WHEN kind = 'usage_minute' THEN t + INTERVAL '60' SECOND
            WHEN kind = 'usage_hour' THEN t + INTERVAL '3600' SECOND
            ELSE t + INTERVAL '86400' SECOND
        END AS t_to,
        SUM(n1) AS requests,
        SUM(n2) AS prompt_tokens,
        SUM(n3) AS completion_tokens
    FROM engine_events
    WHERE kind IN ('usage_minute', 'usage_hour', 'usage_day') AND t IS NOT NULL
    GROUP BY kind, model, t
),
called AS (
    SELECT
        call_id,
        MIN(model) AS model,
        MIN(model_raw) AS model_raw,
        MIN(t_start) AS t_start,
        MAX(prompt_tokens) AS prompt_tokens
    FROM exchanges
    WHERE client_facing AND t_start IS NOT NULL
    GROUP BY call_id
),
logged AS (
    SELECT
        b.kind,
        b.model,
        b.t_from,
        COUNT(c.call_id) AS calls,
        SUM(c.prompt_tokens) AS prompt_tokens
    FROM billed AS b
    JOIN called AS c
        ON c.t_start >= b.t_from
        AND c.t_start < b.t_to
        AND (b.model IS NULL OR c.model = b.model OR c.model_raw = b.model)
    GROUP BY b.kind, b.model, b.t_from
)
SELECT
    b.t_from,
    b.t_to,
    b.model,
    b.requests AS billed_requests,
    COALESCE(l.calls, 0) AS logged_calls,
    CASE
        WHEN b.requests > COALESCE(l.calls, 0) THEN b.requests - COALESCE(l.calls, 0)
        WHEN b.requests IS NOT NULL THEN 0
    END AS not_logged_requests,
    b.prompt_tokens AS billed_prompt_tokens,
    COALESCE(l.prompt_tokens, 0) AS logged_prompt_tokens,
    CASE
        WHEN b.prompt_tokens > COALESCE(l.prompt_tokens, 0)
            THEN b.prompt_tokens - COALESCE(l.prompt_tokens, 0)
        WHEN b.prompt_tokens IS NOT NULL THEN 0
    END AS not_logged_prompt_tokens
FROM billed AS b
LEFT JOIN logged AS l
    ON l.kind = b.kind
    AND l.t_from = b.t_from
    AND (l.model = b.model OR (l.model IS NULL AND b.model IS NULL))
ORDER BY b.t_from, b.t_to, b.model
