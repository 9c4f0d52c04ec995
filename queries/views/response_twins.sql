-- id: response_twins
-- title: the exchanges whose text speaks for a delivered response
-- needs: exchanges
-- keep: rows
-- version: 1
-- why: where the gateway did not keep the whole answer, the engine's record of it is judged; an
--      internal attempt whose text was not the one handed over proves nothing about the response
SELECT exchange_id, exchange_id AS twin_exchange_id
FROM exchanges
WHERE delivered AND in_window
UNION ALL
SELECT d.exchange_id, e.exchange_id AS twin_exchange_id
FROM exchanges AS d
JOIN exchanges AS e ON e.call_id = d.call_id
WHERE d.delivered
    AND d.in_window
    AND COALESCE(d.response_state, 'absent') <> 'full'
    AND NOT COALESCE(e.delivered, FALSE)
    AND e.role <> 'prefill'
    AND (d.choice IS NULL OR e.choice IS NULL OR d.choice = e.choice)
