-- id: engine_confession
-- title: an engine says that it read or sent the wrong memory
-- severity: column
-- exposure: column
-- needs: exchanges, engine_events, event_calls
-- version: 1
-- why: corrupted metadata, a failed checksum or a page with another token than it should hold is
--      the engine's own word for it; what it caught in time reached no client, unless the same
--      hand-over was answered all the same
WITH told AS (
    SELECT
        e.source_id,
        e.source_offset,
        e.source_index,
        e.t,
        e.node,
        e.kind,
        e.engine_request_id,
        e.bootstrap_room,
        e.n1,
        e.n2,
        c.call_id,
        c.joined_by
    FROM engine_events AS e
    LEFT JOIN event_calls AS c
        ON c.source_id = e.source_id
        AND c.source_offset = e.source_offset
        AND c.source_index = e.source_index
    WHERE e.kind IN (
        'context_corruption', 'kv_checksum_mismatch', 'kv_canary_violation', 'stale_blocks'
    )
),
rooms AS (
    SELECT call_id, COUNT(DISTINCT bootstrap_room) AS rooms
    FROM exchanges
    WHERE bootstrap_room IS NOT NULL
    GROUP BY call_id
),
answered AS (
    SELECT
        t.source_id,
        t.source_offset,
        t.source_index,
        d.exchange_id
    FROM told AS t
    JOIN exchanges AS d ON d.call_id = t.call_id
    LEFT JOIN rooms AS r ON r.call_id = t.call_id
    WHERE d.delivered
        AND d.in_window
        AND COALESCE(d.http_status, 200) = 200
        AND COALESCE(d.completion_tokens, 0) + d.response_bytes > 0
        -- With several hand-overs the answer may be that of another one.
        AND COALESCE(r.rooms, 1) = 1
)
SELECT
    a.exchange_id,
    t.source_id || ':' || CAST(t.source_offset AS VARCHAR) AS finding_key,
    CASE
        WHEN a.exchange_id IS NOT NULL THEN 'high'
        WHEN t.kind = 'stale_blocks' THEN 'low'
        ELSE 'medium'
    END AS severity,
    CASE
        WHEN a.exchange_id IS NULL THEN CAST(NULL AS VARCHAR)
        WHEN t.kind = 'stale_blocks' OR t.joined_by = 'length' THEN 'likely'
        ELSE 'proven'
    END AS exposure,
    t.t AS event_time,
    t.kind AS confession,
    t.node,
    t.engine_request_id,
    t.bootstrap_room,
    t.joined_by,
    t.n1,
    t.n2
FROM told AS t
LEFT JOIN answered AS a
    ON a.source_id = t.source_id
    AND a.source_offset = t.source_offset
    AND a.source_index = t.source_index
ORDER BY t.source_id, t.source_offset, t.source_index, a.exchange_id NULLS FIRST
