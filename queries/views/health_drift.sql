-- id: health_drift
-- title: broken texts by node and day, against its week before and other nodes
-- needs: text_health, exchanges
-- version: 1
-- why: memory that goes bad on one node shows as a jump on that node only; a change of the model or
--      of what is asked shows on all. Broken is what lies 6 robust deviations from the same model
--      and node, or holds template tokens. z is that of two shares; 4 and more is a drift
WITH texts AS (
    SELECT
        COALESCE(e.model, 'unknown') AS model,
        COALESCE(e.node, 'unknown') AS node,
        CAST(e.t_start AS DATE) AS event_day,
        CASE
            WHEN COALESCE(h.deviation_repetition, 0) >= 6000
                OR COALESCE(h.deviation_compression, 0) >= 6000
                OR COALESCE(h.deviation_characters, 0) >= 6000
                OR h.template_tokens > 0
                THEN 1
            ELSE 0
        END AS broken
    FROM text_health AS h
    JOIN exchanges AS e ON e.exchange_id = h.exchange_id
    WHERE e.t_start IS NOT NULL AND e.in_window
),
daily AS (
    SELECT
        model,
        node,
        event_day,
        CAST(COUNT(*) AS BIGINT) AS responses,
        CAST(SUM(broken) AS BIGINT) AS broken
    FROM texts
    GROUP BY model, node, event_day
),
beside AS (
    SELECT
        d.*,
        CAST(COALESCE(SUM(responses) OVER (
            PARTITION BY model, node ORDER BY event_day ROWS BETWEEN 7 PRECEDING AND 1 PRECEDING
        ), 0) AS BIGINT) AS before_responses,
        CAST(COALESCE(SUM(broken) OVER (
            PARTITION BY model, node ORDER BY event_day ROWS BETWEEN 7 PRECEDING AND 1 PRECEDING
        ), 0) AS BIGINT) AS before_broken,
        CAST(SUM(responses) OVER (PARTITION BY model, event_day) AS BIGINT) - responses
            AS other_responses,
        CAST(SUM(broken) OVER (PARTITION BY model, event_day) AS BIGINT) - broken AS other_broken
    FROM daily AS d
),
compared AS (
    -- One broken and one sound text are added on either side, so that no share is 0 or 1.
    SELECT
        b.*,
        (CAST(broken AS DOUBLE) + 1.0) / (CAST(responses AS DOUBLE) + 2.0) AS share,
        (CAST(before_broken AS DOUBLE) + 1.0) / (CAST(before_responses AS DOUBLE) + 2.0)
            AS before_share,
        (CAST(other_broken AS DOUBLE) + 1.0) / (CAST(other_responses AS DOUBLE) + 2.0)
            AS other_share,
        (CAST(broken + before_broken AS DOUBLE) + 1.0)
            / (CAST(responses + before_responses AS DOUBLE) + 2.0) AS before_both,
        (CAST(broken + other_broken AS DOUBLE) + 1.0)
            / (CAST(responses + other_responses AS DOUBLE) + 2.0) AS other_both
    FROM beside AS b
),
scored AS (
    SELECT
        c.*,
        CASE
            WHEN before_responses >= 30 AND responses >= 30 THEN
                ROUND((share - before_share) / SQRT(before_both * (1.0 - before_both) * (
                    1.0 / CAST(responses AS DOUBLE) + 1.0 / CAST(before_responses AS DOUBLE)
                )), 2)
        END AS z_before,
        CASE
            WHEN other_responses >= 30 AND responses >= 30 THEN
                ROUND((share - other_share) / SQRT(other_both * (1.0 - other_both) * (
                    1.0 / CAST(responses AS DOUBLE) + 1.0 / CAST(other_responses AS DOUBLE)
                )), 2)
        END AS z_others
    FROM compared AS c
)
SELECT
    model,
    node,
    event_day,
    responses,
    broken,
    before_responses,
    before_broken,
    other_responses,
    other_broken,
    z_before,
    z_others,
    COALESCE(z_before >= 4.0, FALSE) OR COALESCE(z_others >= 4.0, FALSE) AS drifts,
    COALESCE(z_others >= 4.0, FALSE) AS this_node_only
FROM scored
