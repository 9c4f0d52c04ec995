-- id: spec_accept_drop
-- title: a decode node accepts far fewer drafted tokens than it used to
-- severity: low
-- needs: engine_events
-- version: 1
-- why: drafts that no longer fit mean that the model reads other state than it should; measured
--      against the node's own history, with the cut that one operator published as a floor only
WITH hours AS (
    SELECT
        node,
        DATE_TRUNC('hour', t) AS hour,
        COUNT(*) AS samples,
        CAST(
            FLOOR(CAST(SUM(n3) AS DOUBLE) / CAST(COUNT(*) AS DOUBLE)) AS BIGINT
        ) AS accepted_thousandths
    FROM engine_events
    WHERE kind = 'decode_batch' AND n3 IS NOT NULL AND t IS NOT NULL AND node IS NOT NULL
    GROUP BY node, DATE_TRUNC('hour', t)
),
ranked AS (
    SELECT
        node,
        accepted_thousandths,
        ROW_NUMBER() OVER (PARTITION BY node ORDER BY accepted_thousandths, hour) AS place,
        COUNT(*) OVER (PARTITION BY node) AS hours
    FROM hours
    WHERE samples >= 10
),
usual AS (
    SELECT node, MAX(hours) AS hours, MAX(accepted_thousandths) AS usual_thousandths
    FROM ranked
    WHERE 2 * place <= hours + 1
    GROUP BY node
)
SELECT
    CAST(NULL AS VARCHAR) AS exchange_id,
    h.node || ' ' || CAST(h.hour AS VARCHAR) AS finding_key,
    h.hour AS event_time,
    h.node,
    h.samples,
    h.accepted_thousandths,
    u.usual_thousandths,
    u.hours AS hours_of_history
FROM hours AS h
JOIN usual AS u ON u.node = h.node
WHERE h.samples >= 10
    AND u.hours >= 5
    AND (
        2 * h.accepted_thousandths < u.usual_thousandths
        OR (h.accepted_thousandths < 1400 AND u.usual_thousandths >= 1800)
    )
ORDER BY h.node, h.hour
