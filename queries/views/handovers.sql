-- id: handovers
-- title: what prefill and decode say of the length of one prompt, one row per bootstrap room
-- needs: exchanges, engine_events, room_calls
-- keep: rows
-- version: 1
-- why: two lengths of one hand-over may differ for good reasons: a request that lost its pages is
--      sent to prefill again with what it had generated, and a prefix that decode already held is
--      not sent; only a prefill that took in less than decode counts on is short
WITH witnesses AS (
    SELECT
        bootstrap_room,
        role,
        prompt_tokens AS tokens,
        cached_tokens,
        node,
        exchange_id,
        CAST(NULL AS BIGINT) AS moved_bytes
    FROM exchanges
    WHERE bootstrap_room IS NOT NULL
        AND bootstrap_room <> '0'
        AND role IN ('prefill', 'decode')
    UNION ALL
    SELECT
        bootstrap_room,
        role,
        n1 AS tokens,
        n2 AS cached_tokens,
        node,
        CAST(NULL AS VARCHAR) AS exchange_id,
        moved_bytes
    FROM engine_events
    WHERE kind = 'req_time_stats'
        AND bootstrap_room IS NOT NULL
        AND bootstrap_room <> '0'
        AND role IN ('prefill', 'decode')
),
lengths AS (
    SELECT
        bootstrap_room,
        -- Of several attempts the fullest one counts.
        MAX(CASE WHEN role = 'prefill' THEN tokens END) AS prefill_tokens,
        MAX(CASE WHEN role = 'decode' THEN tokens END) AS decode_tokens,
        MAX(CASE WHEN role = 'decode' THEN cached_tokens END) AS decode_cached_tokens,
        MAX(CASE WHEN role = 'prefill' THEN moved_bytes END) AS moved_bytes,
        MIN(CASE WHEN role = 'prefill' THEN node END) AS prefill_node,
        MIN(CASE WHEN role = 'decode' THEN node END) AS decode_node,
        MIN(CASE WHEN role = 'prefill' THEN exchange_id END) AS prefill_exchange_id,
        MIN(CASE WHEN role = 'decode' THEN exchange_id END) AS decode_exchange_id,
        COUNT(*) AS witnesses
    FROM witnesses
    GROUP BY bootstrap_room
),
asked AS (
    SELECT call_id, MAX(prompt_tokens) AS asked_tokens
    FROM exchanges
    WHERE role IN ('gateway', 'client')
    GROUP BY call_id
)
SELECT
    l.bootstrap_room,
    c.call_id,
    c.joined_by,
    l.prefill_tokens,
    l.decode_tokens,
    l.decode_cached_tokens,
    a.asked_tokens,
    l.moved_bytes,
    l.prefill_node,
    l.decode_node,
    l.prefill_exchange_id,
    l.decode_exchange_id,
    l.witnesses,
    CASE
        WHEN l.prefill_tokens IS NULL THEN 'one_side'
        -- The gateway repeats decode's count.
        WHEN l.decode_tokens IS NULL AND l.prefill_tokens = 1 AND a.asked_tokens >= 1024
            THEN 'short'
        WHEN l.decode_tokens IS NULL THEN 'one_side'
        WHEN l.prefill_tokens = l.decode_tokens THEN 'equal'
        WHEN l.prefill_tokens > l.decode_tokens THEN 'sent_again'
        WHEN l.prefill_tokens > 1
            AND l.prefill_tokens + COALESCE(l.decode_cached_tokens, 0) >= l.decode_tokens
            THEN 'prefix_on_decode'
        ELSE 'short'
    END AS reading
FROM lengths AS l
LEFT JOIN room_calls AS c ON c.bootstrap_room = l.bootstrap_room
LEFT JOIN asked AS a ON a.call_id = c.call_id
