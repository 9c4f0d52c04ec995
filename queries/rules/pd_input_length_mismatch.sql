-- id: pd_input_length_mismatch
-- title: prefill took in less of a prompt than decode counts on
-- severity: high
-- exposure: column
-- needs: exchanges, handovers
-- version: 3
-- why: the decode node attends to as many pages as it reserved; where prefill filled fewer of them
--      under the same bootstrap room, the rest held someone else's data; lengths come from request
--      logs and from the engines' accounts of requests, so no text is needed; a fixed engine
--      counts one token too when it refuses, but its client is told so and decode saw nothing
WITH delivered AS (
    SELECT call_id, COUNT(*) AS responses
    FROM exchanges
    WHERE delivered AND in_window
    GROUP BY call_id
),
refused AS (
    SELECT call_id, COUNT(*) AS refusals
    FROM exchanges
    WHERE client_facing AND (http_status >= 400 OR outcome = 'rejected')
    GROUP BY call_id
)
SELECT
    e.exchange_id,
    h.bootstrap_room AS finding_key,
    -- Lengths and times that fit one call only are strong, but no id.
    CASE WHEN h.joined_by = 'length' THEN 'likely' ELSE 'proven' END AS exposure,
    h.bootstrap_room,
    h.joined_by,
    h.prefill_exchange_id,
    h.decode_exchange_id,
    h.prefill_tokens AS prefill_prompt_tokens,
    h.decode_tokens AS decode_prompt_tokens,
    h.asked_tokens,
    h.prefill_node,
    h.decode_node,
    h.moved_bytes,
    h.witnesses
FROM handovers AS h
JOIN exchanges AS e ON e.call_id = h.call_id
LEFT JOIN delivered AS v ON v.call_id = h.call_id
LEFT JOIN refused AS r ON r.call_id = h.call_id
WHERE h.reading = 'short'
    AND (r.call_id IS NULL OR h.decode_tokens IS NOT NULL)
    AND e.in_window
    AND (
        e.delivered
        OR (
            v.call_id IS NULL
            AND e.exchange_id = COALESCE(h.decode_exchange_id, h.prefill_exchange_id)
        )
    )
ORDER BY e.exchange_id, h.bootstrap_room
