-- id: pd_input_length_mismatch
-- title: prefill and decode disagree on the length of one prompt
-- severity: high
-- exposure: proven
-- needs: exchanges
-- version: 1
-- why: the decode node attends to as many pages as it reserved; where prefill filled another
--      number of them under the same bootstrap room, the rest held someone else's data
WITH pairs AS (
    SELECT
        p.call_id,
        p.bootstrap_room,
        p.exchange_id AS prefill_exchange_id,
        d.exchange_id AS decode_exchange_id,
        p.prompt_tokens AS prefill_prompt_tokens,
        d.prompt_tokens AS decode_prompt_tokens,
        p.node AS prefill_node,
        d.node AS decode_node,
        ROW_NUMBER() OVER (
            PARTITION BY p.call_id, p.bootstrap_room ORDER BY p.exchange_id, d.exchange_id
        ) AS pair_rank
    FROM exchanges AS p
    JOIN exchanges AS d ON d.call_id = p.call_id AND d.bootstrap_room = p.bootstrap_room
    WHERE p.role = 'prefill' AND d.role = 'decode' AND p.prompt_tokens <> d.prompt_tokens
),
delivered AS (
    SELECT call_id, COUNT(*) AS responses
    FROM exchanges
    WHERE delivered AND in_window
    GROUP BY call_id
)
SELECT
    e.exchange_id,
    p.bootstrap_room AS finding_key,
    p.bootstrap_room,
    p.prefill_exchange_id,
    p.decode_exchange_id,
    p.prefill_prompt_tokens,
    p.decode_prompt_tokens,
    p.prefill_node,
    p.decode_node
FROM pairs AS p
JOIN exchanges AS e ON e.call_id = p.call_id
LEFT JOIN delivered AS v ON v.call_id = p.call_id
WHERE p.pair_rank = 1
    AND e.in_window
    AND (e.delivered OR (v.call_id IS NULL AND e.exchange_id = p.decode_exchange_id))
ORDER BY e.exchange_id, p.bootstrap_room
