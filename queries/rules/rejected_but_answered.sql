-- id: rejected_but_answered
-- title: the scheduler refused the request and the client got an answer
-- severity: high
-- exposure: column
-- needs: exchanges, engine_events, event_calls, exposure, handovers
-- version: 1
-- why: a refused prompt was not computed, so an answer with status 200 came from memory that held
--      something else; the line is written by one rank only, so its absence proves nothing
WITH refusals AS (
    SELECT
        c.call_id,
        c.joined_by,
        e.t,
        e.node,
        e.kind,
        e.engine_request_id,
        e.n1,
        e.n2,
        ROW_NUMBER() OVER (
            PARTITION BY c.call_id
            ORDER BY
                CASE c.joined_by WHEN 'room' THEN 0 WHEN 'rid' THEN 1 ELSE 2 END,
                e.t NULLS LAST,
                e.source_id,
                e.source_offset,
                e.source_index
        ) AS refusal_rank
    FROM engine_events AS e
    JOIN event_calls AS c
        ON c.source_id = e.source_id
        AND c.source_offset = e.source_offset
        AND c.source_index = e.source_index
    WHERE e.kind IN (
        'length_rejected',
        'multimodal_rejected',
        'grammar_rejected',
        'grammar_timeout',
        'session_rejected',
        'parameter_rejected',
        'other_rejected',
        'pool_exceeded'
    )
)
SELECT
    x.exchange_id,
    CASE WHEN r.joined_by = 'length' THEN 'likely' ELSE 'proven' END AS exposure,
    r.kind AS refusal,
    r.joined_by,
    r.node AS refusing_node,
    r.t AS refused_at,
    r.engine_request_id,
    r.n1 AS refused_tokens,
    r.n2 AS limit_tokens,
    x.prompt_tokens
FROM refusals AS r
JOIN exposure AS x ON x.call_id = r.call_id
WHERE r.refusal_rank = 1
    AND x.accepted
    -- Another attempt of the call was computed in full.
    AND NOT EXISTS (
        SELECT 1 FROM handovers AS h WHERE h.call_id = r.call_id AND h.reading = 'equal'
    )
    -- The refused attempt was told so, and the answer is that of another one.
    AND NOT EXISTS (
        SELECT 1
        FROM exchanges AS f
        WHERE f.call_id = r.call_id
            AND f.request_id = r.engine_request_id
            AND f.role <> 'prefill'
            AND (f.http_status >= 400 OR f.outcome IN ('rejected', 'error'))
    )
ORDER BY x.exchange_id
