-- id: abort_neighbour
-- title: text of a broken-off request shows in an answer of the same decode node
-- severity: high
-- exposure: likely
-- needs: exchanges, engine_events, event_calls, overlaps
-- version: 1
-- why: a transfer that is still under way when its request is broken off lands in pages that belong
--      to someone else by then; who ran on that node, or started within a minute, is looked at
--      against the broken-off request whatever the length of the prompt
WITH failures AS (
    SELECT c.call_id, e.node, e.t, e.kind
    FROM engine_events AS e
    JOIN event_calls AS c
        ON c.source_id = e.source_id
        AND c.source_offset = e.source_offset
        AND c.source_index = e.source_index
    WHERE e.kind IN (
        'decode_transfer_failed',
        'decode_handshake_failed',
        'prefill_transfer_failed',
        'transfer_failed',
        'client_disconnected',
        'aborted'
    )
        AND e.t IS NOT NULL
    UNION ALL
    SELECT call_id, node, t_end AS t, 'outcome_aborted' AS kind
    FROM exchanges
    WHERE outcome = 'aborted' AND t_end IS NOT NULL AND role IN ('decode', 'unified')
),
-- The node that decoded the broken-off request, where the failing line is of another one.
placed AS (
    SELECT DISTINCT f.call_id, COALESCE(d.node, f.node) AS node, f.t, f.kind
    FROM failures AS f
    LEFT JOIN exchanges AS d
        ON d.call_id = f.call_id AND d.role IN ('decode', 'unified') AND d.node IS NOT NULL
),
neighbours AS (
    SELECT
        p.call_id AS aborted_call_id,
        p.node,
        p.t AS aborted_at,
        p.kind AS abort_kind,
        n.call_id
    FROM placed AS p
    JOIN exchanges AS n ON n.node = p.node AND n.call_id <> p.call_id
    WHERE n.role IN ('decode', 'unified')
        AND n.t_start <= p.t + INTERVAL '60' SECOND
        AND COALESCE(n.t_end, n.t_start) >= p.t
),
shown AS (
    SELECT
        o.exchange_id,
        o.source_exchange_id,
        o.source_tenant,
        o.novel_weight,
        o.carriers,
        b.node,
        b.aborted_at,
        b.abort_kind,
        ROW_NUMBER() OVER (
            PARTITION BY o.exchange_id, o.source_tenant
            ORDER BY o.novel_weight DESC, o.source_exchange_id, b.aborted_at, b.abort_kind
        ) AS shown_rank
    FROM "overlaps" AS o
    JOIN exchanges AS e ON e.exchange_id = o.exchange_id
    JOIN exchanges AS s ON s.exchange_id = o.source_exchange_id
    JOIN neighbours AS b ON b.call_id = e.call_id AND b.aborted_call_id = s.call_id
    WHERE e.in_window AND o.carriers = 1
)
SELECT
    exchange_id,
    source_exchange_id,
    source_tenant,
    node,
    aborted_at,
    abort_kind,
    novel_weight,
    carriers
FROM shown
WHERE shown_rank = 1
ORDER BY exchange_id, source_tenant
