-- id: call_requests
-- title: the request id a call is known by: the gateway's, else the client's, else the earliest
-- needs: exchanges
-- keep: rows
-- version: 1
-- why: several logs name one call differently; people look it up by what the gateway said
WITH ranked AS (
    SELECT
        call_id,
        request_id,
        ROW_NUMBER() OVER (
            PARTITION BY call_id
            ORDER BY
                CASE role WHEN 'gateway' THEN 0 WHEN 'client' THEN 1 ELSE 2 END,
                t_start NULLS LAST,
                exchange_id
        ) AS request_rank
    FROM exchanges
    WHERE request_id IS NOT NULL
)
SELECT call_id, request_id
FROM ranked
WHERE request_rank = 1
