-- id: early_sign_counts
-- title: calls and those in trouble, by month, version, kind of trouble, factor and its value
-- needs: exchanges, engine_events, event_calls, handovers, capacity, findings
-- version: 1
-- why: errors of the hand-over were taken for the network's over months; the network knows hours
--      and links, but neither the length of a prompt nor an abort nor one node alone, so each call
--      is counted under all of them
WITH placed AS (
    SELECT call_id, node, role, capacity_id
    FROM exchanges
    WHERE node IS NOT NULL AND role IN ('prefill', 'decode', 'unified')
    UNION ALL
    SELECT call_id, prefill_node AS node, 'prefill' AS role, CAST(NULL AS VARCHAR) AS capacity_id
    FROM handovers
    WHERE call_id IS NOT NULL AND prefill_node IS NOT NULL
    UNION ALL
    SELECT call_id, decode_node AS node, 'decode' AS role, CAST(NULL AS VARCHAR) AS capacity_id
    FROM handovers
    WHERE call_id IS NOT NULL AND decode_node IS NOT NULL
),
nodes AS (
    SELECT
        call_id,
        MIN(CASE WHEN role <> 'decode' THEN node END) AS prefill_node,
        MIN(CASE WHEN role <> 'prefill' THEN node END) AS decode_node,
        MIN(CASE WHEN role <> 'decode' THEN capacity_id END) AS capacity_id
    FROM placed
    GROUP BY call_id
),
failed AS (
    SELECT
        c.call_id,
        MAX(
            CASE
                WHEN e.kind IN (
                    'prefill_transfer_failed', 'prefill_bootstrap_failed',
                    'decode_transfer_failed', 'decode_handshake_failed', 'transfer_failed'
                )
                    THEN 1
                ELSE 0
            END
        ) AS transfer_error,
        MAX(CASE WHEN e.kind = 'grammar_timeout' THEN 1 ELSE 0 END) AS timeout
    FROM engine_events AS e
    JOIN event_calls AS c
        ON c.source_id = e.source_id
        AND c.source_offset = e.source_offset
        AND c.source_index = e.source_index
    GROUP BY c.call_id
),
odd AS (
    SELECT DISTINCT call_id
    FROM findings
    WHERE rule_id IN ('text_health_outlier', 'spec_accept_drop') AND call_id IS NOT NULL
),
asked AS (
    -- One row a call: n answers of one question are one call.
    SELECT
        call_id,
        MIN(t_start) AS t_start,
        MAX(prompt_tokens) AS prompt_tokens,
        MIN(capacity_id) AS capacity_id,
        MAX(CASE WHEN http_status IN (408, 504, 524) THEN 1 ELSE 0 END) AS timeout,
        MAX(
            CASE
                WHEN http_status = 200
                    AND (
                        completion_tokens = 0
                        OR (completion_tokens IS NULL AND response_state = 'full'
                            AND response_bytes = 0)
                    )
                    THEN 1
                ELSE 0
            END
        ) AS empty_answer
    FROM exchanges
    WHERE client_facing AND in_window AND t_start IS NOT NULL
        AND COALESCE(outcome, 'unknown') <> 'aborted'
        AND COALESCE(outcome, 'unknown') <> 'rejected'
    GROUP BY call_id
),
calls AS (
    SELECT
        a.call_id,
        a.t_start,
        SUBSTR(CAST(CAST(a.t_start AS DATE) AS VARCHAR), 1, 7) AS "month",
        COALESCE(COALESCE(k.engine, '') || ' ' || k.engine_version, k.engine, 'unknown') AS version,
        a.prompt_tokens,
        n.prefill_node,
        n.decode_node,
        CAST(FLOOR(EXTRACT(EPOCH FROM a.t_start) / 60) AS BIGINT) AS "minute",
        COALESCE(f.transfer_error, 0) AS transfer_error,
        CASE WHEN a.timeout = 1 OR f.timeout = 1 THEN 1 ELSE 0 END AS timeout,
        a.empty_answer,
        CASE WHEN o.call_id IS NULL THEN 0 ELSE 1 END AS odd_answer
    FROM asked AS a
    LEFT JOIN nodes AS n ON n.call_id = a.call_id
    LEFT JOIN failed AS f ON f.call_id = a.call_id
    LEFT JOIN odd AS o ON o.call_id = a.call_id
    LEFT JOIN capacity AS k ON k.capacity_id = COALESCE(n.capacity_id, a.capacity_id)
),
broken_off AS (
    SELECT node, t
    FROM engine_events
    WHERE kind IN ('aborted', 'client_disconnected') AND node IS NOT NULL AND t IS NOT NULL
    UNION ALL
    SELECT COALESCE(n.decode_node, n.prefill_node) AS node, e.t_end AS t
    FROM exchanges AS e
    JOIN nodes AS n ON n.call_id = e.call_id
    WHERE e.outcome = 'aborted' AND e.client_facing AND e.t_end IS NOT NULL
),
-- The minute of an abort from its moment on, and the next one.
abort_minutes AS (
    SELECT node, "minute", MIN(t) AS since
    FROM (
        SELECT node, CAST(FLOOR(EXTRACT(EPOCH FROM t) / 60) AS BIGINT) AS "minute", t
        FROM broken_off
        WHERE node IS NOT NULL
        UNION ALL
        SELECT node, CAST(FLOOR(EXTRACT(EPOCH FROM t) / 60) AS BIGINT) + 1 AS "minute", t
        FROM broken_off
        WHERE node IS NOT NULL
    ) AS near
    GROUP BY node, "minute"
),
cuts AS (
    SELECT 1024 AS cut
    UNION ALL SELECT 4096 AS cut
    UNION ALL SELECT 16384 AS cut
    UNION ALL SELECT 65536 AS cut
    UNION ALL SELECT 131072 AS cut
    UNION ALL SELECT 262144 AS cut
    UNION ALL SELECT 524288 AS cut
),
leveled AS (
    SELECT call_id, 'length' AS factor, CAST(NULL AS VARCHAR) AS level
    FROM calls
    WHERE prompt_tokens > 0
    UNION ALL
    SELECT c.call_id, 'length' AS factor, CAST(k.cut AS VARCHAR) AS level
    FROM calls AS c
    JOIN cuts AS k ON c.prompt_tokens >= k.cut
    UNION ALL
    SELECT call_id, 'node' AS factor, CAST(NULL AS VARCHAR) AS level
    FROM calls
    WHERE prefill_node IS NOT NULL OR decode_node IS NOT NULL
    UNION ALL
    SELECT call_id, 'node' AS factor, prefill_node AS level
    FROM calls
    WHERE prefill_node IS NOT NULL
    UNION ALL
    SELECT call_id, 'node' AS factor, decode_node AS level
    FROM calls
    WHERE decode_node IS NOT NULL AND COALESCE(prefill_node, '') <> decode_node
    UNION ALL
    SELECT call_id, 'abort' AS factor, CAST(NULL AS VARCHAR) AS level
    FROM calls
    WHERE prefill_node IS NOT NULL OR decode_node IS NOT NULL
    UNION ALL
    SELECT c.call_id, 'abort' AS factor, 'within a minute' AS level
    FROM calls AS c
    JOIN abort_minutes AS b
        ON b.node = COALESCE(c.decode_node, c.prefill_node) AND b."minute" = c."minute"
    WHERE c.t_start >= b.since
    UNION ALL
    SELECT call_id, 'hour' AS factor, CAST(NULL AS VARCHAR) AS level
    FROM calls
    UNION ALL
    SELECT
        call_id,
        'hour' AS factor,
        CAST(CAST(t_start AS DATE) AS VARCHAR) || 'T'
        || LPAD(CAST(EXTRACT(HOUR FROM t_start) AS VARCHAR), 2, '0') AS level
    FROM calls
    UNION ALL
    SELECT call_id, 'link' AS factor, CAST(NULL AS VARCHAR) AS level
    FROM calls
    WHERE prefill_node IS NOT NULL AND decode_node IS NOT NULL AND prefill_node <> decode_node
    UNION ALL
    SELECT call_id, 'link' AS factor, prefill_node || ' > ' || decode_node AS level
    FROM calls
    WHERE prefill_node IS NOT NULL AND decode_node IS NOT NULL AND prefill_node <> decode_node
),
signs AS (
    SELECT 'transfer_error' AS sign
    UNION ALL SELECT 'timeout' AS sign
    UNION ALL SELECT 'empty_answer' AS sign
    UNION ALL SELECT 'odd_answer' AS sign
),
counted AS (
    SELECT
        c."month",
        c.version,
        l.factor,
        l.level,
        COUNT(*) AS calls,
        SUM(c.transfer_error) AS transfer_errors,
        SUM(c.timeout) AS timeouts,
        SUM(c.empty_answer) AS empty_answers,
        SUM(c.odd_answer) AS odd_answers,
        MIN(CASE WHEN c.transfer_error = 1 THEN c.t_start END) AS transfer_error_first,
        MAX(CASE WHEN c.transfer_error = 1 THEN c.t_start END) AS transfer_error_last,
        MIN(CASE WHEN c.timeout = 1 THEN c.t_start END) AS timeout_first,
        MAX(CASE WHEN c.timeout = 1 THEN c.t_start END) AS timeout_last,
        MIN(CASE WHEN c.empty_answer = 1 THEN c.t_start END) AS empty_answer_first,
        MAX(CASE WHEN c.empty_answer = 1 THEN c.t_start END) AS empty_answer_last,
        MIN(CASE WHEN c.odd_answer = 1 THEN c.t_start END) AS odd_answer_first,
        MAX(CASE WHEN c.odd_answer = 1 THEN c.t_start END) AS odd_answer_last
    FROM calls AS c
    JOIN leveled AS l ON l.call_id = c.call_id
    GROUP BY c."month", c.version, l.factor, l.level
)
SELECT
    c."month",
    c.version,
    s.sign,
    c.factor,
    c.level,
    c.calls,
    CAST(
        CASE s.sign
            WHEN 'transfer_error' THEN c.transfer_errors
            WHEN 'timeout' THEN c.timeouts
            WHEN 'empty_answer' THEN c.empty_answers
            ELSE c.odd_answers
        END AS BIGINT
    ) AS troubled,
    CASE s.sign
        WHEN 'transfer_error' THEN c.transfer_error_first
        WHEN 'timeout' THEN c.timeout_first
        WHEN 'empty_answer' THEN c.empty_answer_first
        ELSE c.odd_answer_first
    END AS first_time,
    CASE s.sign
        WHEN 'transfer_error' THEN c.transfer_error_last
        WHEN 'timeout' THEN c.timeout_last
        WHEN 'empty_answer' THEN c.empty_answer_last
        ELSE c.odd_answer_last
    END AS last_time
FROM counted AS c
CROSS JOIN signs AS s
ORDER BY c."month", c.version, s.sign, c.factor, c.level
