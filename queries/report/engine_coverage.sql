-- id: engine_coverage
-- title: which engines bore witness, from when to when, and what they could not say
-- needs: engine_events, capacity
-- version: 1
-- why: a line that is missing is no proof: refusals are written by the first tensor-parallel rank
--      only, accounts of requests only where they are switched on, and a request log below level 3
--      cuts what it keeps
WITH told AS (
    SELECT
        node,
        MIN(role) AS role,
        MIN(engine) AS engine,
        MIN(t) AS first_event,
        MAX(t) AS last_event,
        COUNT(*) AS events,
        SUM(CASE WHEN t IS NULL THEN 1 ELSE 0 END) AS without_time,
        SUM(CASE WHEN kind = 'startup' THEN 1 ELSE 0 END) AS starts,
        SUM(CASE WHEN kind = 'req_time_stats' THEN 1 ELSE 0 END) AS accounts,
        SUM(
            CASE
                WHEN kind IN (
                    'length_rejected', 'multimodal_rejected', 'grammar_rejected',
                    'grammar_timeout', 'session_rejected', 'parameter_rejected',
                    'other_rejected', 'pool_exceeded'
                )
                    THEN 1
                ELSE 0
            END
        ) AS refusals,
        SUM(
            CASE
                WHEN kind IN (
                    'prefill_transfer_failed', 'prefill_bootstrap_failed',
                    'decode_transfer_failed', 'decode_handshake_failed', 'transfer_failed'
                )
                    THEN 1
                ELSE 0
            END
        ) AS failed_transfers
    FROM engine_events
    -- Bills are no engines.
    WHERE NOT (kind = 'usage_minute' OR kind = 'usage_hour' OR kind = 'usage_day')
    GROUP BY node
),
-- A lone `TP0` or none at all: other ranks wrote nothing, whatever happened on them.
ranks AS (
    SELECT node, COUNT(DISTINCT rank) AS ranks
    FROM engine_events
    GROUP BY node
),
settings AS (
    SELECT node, MAX(flags) AS flags
    FROM capacity
    WHERE node IS NOT NULL
    GROUP BY node
)
SELECT
    COALESCE(t.node, 'unknown') AS node,
    t.role,
    t.engine,
    t.first_event,
    t.last_event,
    t.events,
    CAST(t.without_time AS BIGINT) AS without_time,
    CAST(t.starts AS BIGINT) AS starts,
    r.ranks,
    CAST(t.accounts AS BIGINT) AS accounts,
    CAST(t.refusals AS BIGINT) AS refusals,
    CAST(t.failed_transfers AS BIGINT) AS failed_transfers,
    CASE
        WHEN ' ' || s.flags || ' ' LIKE '% enable_request_time_stats_logging=true %' THEN 'on'
        WHEN ' ' || s.flags || ' ' LIKE '% enable_request_time_stats_logging=false %' THEN 'off'
        WHEN t.accounts > 0 THEN 'on'
        ELSE 'unknown'
    END AS accounts_are,
    CASE
        WHEN ' ' || s.flags || ' ' LIKE '% log_requests_level=3 %' THEN 'whole'
        WHEN ' ' || s.flags || ' ' LIKE '% log_requests_level=2 %' THEN 'cut'
        WHEN ' ' || s.flags || ' ' LIKE '% log_requests_level=%' THEN 'absent'
        ELSE 'unknown'
    END AS request_texts_are
FROM told AS t
LEFT JOIN ranks AS r ON COALESCE(r.node, '') = COALESCE(t.node, '')
LEFT JOIN settings AS s ON s.node = t.node
ORDER BY node
