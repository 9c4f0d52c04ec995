-- id: pd_short_transfer
-- title: far less cache was moved than the prompt needs
-- severity: high
-- exposure: likely
-- needs: exchanges, engine_events, room_calls
-- version: 1
-- why: every token takes the same space, so the megabytes of a transfer tell how many tokens it
--      held; measured against the same node's usual transfers, and only where decode did not
--      already hold a part of the prompt
WITH accounts AS (
    SELECT
        bootstrap_room,
        MAX(CASE WHEN role = 'prefill' THEN moved_bytes END) AS moved_bytes,
        MAX(CASE WHEN role = 'prefill' THEN n1 END) AS prefill_tokens,
        MAX(CASE WHEN role = 'decode' THEN n1 END) AS decode_tokens,
        MAX(CASE WHEN role = 'decode' THEN n2 END) AS decode_cached_tokens,
        MIN(CASE WHEN role = 'prefill' THEN node END) AS prefill_node
    FROM engine_events
    WHERE kind = 'req_time_stats' AND bootstrap_room IS NOT NULL
    GROUP BY bootstrap_room
),
sized AS (
    SELECT
        bootstrap_room,
        moved_bytes,
        COALESCE(decode_tokens, prefill_tokens) AS tokens,
        prefill_tokens,
        prefill_node,
        CAST(
            FLOOR(
                CAST(moved_bytes AS DOUBLE)
                / CAST(COALESCE(decode_tokens, prefill_tokens) AS DOUBLE)
            ) AS BIGINT
        ) AS bytes_per_token
    FROM accounts
    WHERE moved_bytes > 0
        AND COALESCE(decode_tokens, prefill_tokens) >= 1024
        AND COALESCE(decode_cached_tokens, 0) = 0
),
ranked AS (
    SELECT
        prefill_node,
        bytes_per_token,
        ROW_NUMBER() OVER (
            PARTITION BY prefill_node ORDER BY bytes_per_token, bootstrap_room
        ) AS place,
        COUNT(*) OVER (PARTITION BY prefill_node) AS transfers
    FROM sized
),
usual AS (
    SELECT
        prefill_node,
        MAX(transfers) AS transfers,
        MAX(bytes_per_token) AS usual_bytes_per_token
    FROM ranked
    WHERE 2 * place <= transfers + 1
    GROUP BY prefill_node
)
SELECT
    e.exchange_id,
    s.bootstrap_room AS finding_key,
    s.bootstrap_room,
    s.prefill_node,
    s.tokens,
    s.prefill_tokens,
    s.moved_bytes,
    s.bytes_per_token,
    u.usual_bytes_per_token,
    u.transfers
FROM sized AS s
JOIN usual AS u ON u.prefill_node = s.prefill_node
JOIN room_calls AS r ON r.bootstrap_room = s.bootstrap_room
JOIN exchanges AS e ON e.call_id = r.call_id
WHERE u.transfers >= 20
    AND 2 * s.bytes_per_token < u.usual_bytes_per_token
    AND e.delivered
    AND e.in_window
    AND COALESCE(e.http_status, 200) < 400
ORDER BY e.exchange_id, s.bootstrap_room
