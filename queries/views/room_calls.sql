-- id: room_calls
-- title: the call that a hand-over between prefill and decode belongs to
-- needs: exchanges, engine_events
-- keep: rows
-- version: 1
-- why: request logs name the room; where only the engines' accounts do, their request id or, last,
--      both lengths and the end of the answer tell the call, if they fit one call and no other
WITH named AS (
    SELECT bootstrap_room, MIN(call_id) AS call_id
    FROM exchanges
    WHERE bootstrap_room IS NOT NULL AND bootstrap_room <> '0'
    GROUP BY bootstrap_room
    HAVING COUNT(DISTINCT call_id) = 1
),
taken AS (
    SELECT DISTINCT bootstrap_room
    FROM exchanges
    WHERE bootstrap_room IS NOT NULL
),
accounts AS (
    SELECT DISTINCT bootstrap_room, engine_request_id, role, n1, n3, t
    FROM engine_events
    WHERE kind = 'req_time_stats' AND bootstrap_room IS NOT NULL AND bootstrap_room <> '0'
),
by_id AS (
    SELECT a.bootstrap_room, MIN(e.call_id) AS call_id
    FROM accounts AS a
    JOIN exchanges AS e ON e.request_id = a.engine_request_id
    WHERE NOT EXISTS (SELECT 1 FROM taken AS k WHERE k.bootstrap_room = a.bootstrap_room)
    GROUP BY a.bootstrap_room
    HAVING COUNT(DISTINCT e.call_id) = 1
),
-- Lengths that many share name nobody, and would meet in too many pairs.
rare AS (
    SELECT prompt_tokens, completion_tokens
    FROM exchanges
    WHERE client_facing AND prompt_tokens > 1 AND completion_tokens IS NOT NULL
    GROUP BY prompt_tokens, completion_tokens
    HAVING COUNT(*) <= 100
),
near AS (
    SELECT DISTINCT a.bootstrap_room, e.call_id
    FROM accounts AS a
    JOIN rare AS q ON q.prompt_tokens = a.n1 AND q.completion_tokens = a.n3
    JOIN exchanges AS e ON e.prompt_tokens = a.n1 AND e.completion_tokens = a.n3
    WHERE a.role = 'decode'
        AND a.n1 > 1
        AND e.client_facing
        AND a.t >= e.t_end - INTERVAL '60' SECOND
        AND a.t <= e.t_end + INTERVAL '60' SECOND
        AND NOT EXISTS (SELECT 1 FROM taken AS k WHERE k.bootstrap_room = a.bootstrap_room)
        AND NOT EXISTS (SELECT 1 FROM by_id AS b WHERE b.bootstrap_room = a.bootstrap_room)
),
one_call AS (
    SELECT bootstrap_room, MIN(call_id) AS call_id
    FROM near
    GROUP BY bootstrap_room
    HAVING COUNT(*) = 1
),
one_room AS (
    SELECT call_id
    FROM near
    GROUP BY call_id
    HAVING COUNT(*) = 1
)
SELECT bootstrap_room, call_id, 'room' AS joined_by
FROM named
UNION ALL
SELECT bootstrap_room, call_id, 'rid' AS joined_by
FROM by_id
UNION ALL
SELECT c.bootstrap_room, c.call_id, 'length' AS joined_by
FROM one_call AS c
JOIN one_room AS r ON r.call_id = c.call_id
