-- id: prefill_stub
-- title: a prefill record counts one token for a long prompt
-- severity: high
-- exposure: proven
-- needs: exchanges
-- version: 1
-- why: a refused prompt is replaced by a stub of one token before it is counted, so a record that
--      holds the long prompt and counts one contradicts itself; the decode side of the same
--      hand-over read pages that nobody had filled
WITH stubs AS (
    SELECT
        call_id,
        MIN(exchange_id) AS prefill_exchange_id,
        MAX(prompt_bytes) AS prefill_prompt_bytes,
        MIN(node) AS prefill_node
    FROM exchanges
    WHERE role = 'prefill'
        AND prompt_tokens = 1
        -- No token is as long as that.
        AND prompt_bytes >= 512
    GROUP BY call_id
)
SELECT
    e.exchange_id,
    s.prefill_exchange_id,
    s.prefill_prompt_bytes,
    s.prefill_node,
    e.prompt_tokens
FROM stubs AS s
JOIN exchanges AS e ON e.call_id = s.call_id
WHERE e.in_window
    AND e.delivered
    AND COALESCE(e.http_status, 200) < 400
    AND NOT EXISTS (
        SELECT 1
        FROM exchanges AS f
        WHERE f.call_id = s.call_id AND f.role = 'prefill' AND f.prompt_tokens > 1
    )
ORDER BY e.exchange_id
