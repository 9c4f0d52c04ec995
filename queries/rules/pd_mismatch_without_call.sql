-- id: pd_mismatch_without_call
-- title: prefill took in less of a prompt than decode counts on, and no logged call fits
-- severity: high
-- needs: handovers, engine_events
-- version: 1
-- why: the engines' accounts prove that an answer was computed on foreign memory even where no
--      record of the gateway can be found for it; who received it is then open
WITH times AS (
    SELECT bootstrap_room, MAX(t) AS event_time
    FROM engine_events
    WHERE kind = 'req_time_stats' AND bootstrap_room IS NOT NULL
    GROUP BY bootstrap_room
)
SELECT
    CAST(NULL AS VARCHAR) AS exchange_id,
    h.bootstrap_room AS finding_key,
    t.event_time,
    h.bootstrap_room,
    h.prefill_tokens AS prefill_prompt_tokens,
    h.decode_tokens AS decode_prompt_tokens,
    h.prefill_node,
    h.decode_node,
    h.moved_bytes
FROM handovers AS h
LEFT JOIN times AS t ON t.bootstrap_room = h.bootstrap_room
WHERE h.reading = 'short' AND h.call_id IS NULL
ORDER BY h.bootstrap_room
