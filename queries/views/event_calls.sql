-- id: event_calls
-- title: the call that an engine event speaks of
-- needs: exchanges, engine_events, room_calls
-- keep: rows
-- version: 1
-- why: an engine line names a room or a request id, a refusal for length at least the length; a
--      line that fits two calls is given to neither
WITH events AS (
    SELECT source_id, source_offset, source_index, t, kind, engine_request_id, bootstrap_room, n1
    FROM engine_events
    WHERE (engine_request_id IS NOT NULL OR bootstrap_room IS NOT NULL)
        AND kind <> 'req_time_stats'
),
by_room AS (
    SELECT e.source_id, e.source_offset, e.source_index, r.call_id, r.joined_by
    FROM events AS e
    JOIN room_calls AS r ON r.bootstrap_room = e.bootstrap_room
),
request_calls AS (
    SELECT request_id, MIN(call_id) AS call_id
    FROM exchanges
    WHERE request_id IS NOT NULL
    GROUP BY request_id
    HAVING COUNT(DISTINCT call_id) = 1
),
request_rooms AS (
    -- The account of a request names the room that its refusal leaves out.
    SELECT engine_request_id, MIN(bootstrap_room) AS bootstrap_room
    FROM engine_events
    WHERE kind = 'req_time_stats' AND bootstrap_room IS NOT NULL
    GROUP BY engine_request_id
    HAVING COUNT(DISTINCT bootstrap_room) = 1
),
by_id AS (
    SELECT
        e.source_id,
        e.source_offset,
        e.source_index,
        COALESCE(q.call_id, r.call_id) AS call_id,
        CASE WHEN q.call_id IS NOT NULL THEN 'rid' ELSE r.joined_by END AS joined_by
    FROM events AS e
    LEFT JOIN request_calls AS q ON q.request_id = e.engine_request_id
    LEFT JOIN request_rooms AS m ON m.engine_request_id = e.engine_request_id
    LEFT JOIN room_calls AS r ON r.bootstrap_room = m.bootstrap_room
    WHERE COALESCE(q.call_id, r.call_id) IS NOT NULL
        AND NOT EXISTS (
            SELECT 1
            FROM by_room AS b
            WHERE b.source_id = e.source_id
                AND b.source_offset = e.source_offset
                AND b.source_index = e.source_index
        )
),
near AS (
    SELECT DISTINCT e.source_id, e.source_offset, e.source_index, e.engine_request_id, x.call_id
    FROM events AS e
    JOIN exchanges AS x ON x.prompt_tokens = e.n1
    WHERE e.kind IN ('length_rejected', 'multimodal_rejected', 'pool_exceeded')
        AND x.client_facing
        AND e.t >= x.t_start - INTERVAL '5' SECOND
        AND e.t <= COALESCE(x.t_end, x.t_start + INTERVAL '600' SECOND) + INTERVAL '5' SECOND
        AND NOT EXISTS (
            SELECT 1
            FROM by_room AS b
            WHERE b.source_id = e.source_id
                AND b.source_offset = e.source_offset
                AND b.source_index = e.source_index
        )
        AND NOT EXISTS (
            SELECT 1
            FROM by_id AS b
            WHERE b.source_id = e.source_id
                AND b.source_offset = e.source_offset
                AND b.source_index = e.source_index
        )
),
one_call AS (
    SELECT source_id, source_offset, source_index, MIN(call_id) AS call_id
    FROM near
    GROUP BY source_id, source_offset, source_index
    HAVING COUNT(*) = 1
),
one_request AS (
    SELECT call_id
    FROM near
    GROUP BY call_id
    HAVING COUNT(DISTINCT engine_request_id) = 1
)
SELECT source_id, source_offset, source_index, call_id, joined_by
FROM by_room
UNION ALL
SELECT source_id, source_offset, source_index, call_id, joined_by
FROM by_id
UNION ALL
SELECT c.source_id, c.source_offset, c.source_index, c.call_id, 'length' AS joined_by
FROM one_call AS c
JOIN one_request AS r ON r.call_id = c.call_id
