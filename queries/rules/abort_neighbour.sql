-- id: abort_neighbour
-- title: text of a broken-off request shows in an answer of the same decode node
-- severity: high
-- exposure: likely
-- needs: exchanges, engine_events, event_calls, handovers, overlaps
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
-- Who decoded what, from request logs or from the engines' accounts.
decoded AS (
    SELECT call_id, node, t_start, t_end
    FROM exchanges
    WHERE role IN ('decode', 'unified') AND node IS NOT NULL
    UNION ALL
    SELECT h.call_id, h.decode_node AS node, e.t_start, e.t_end
    FROM handovers AS h
    JOIN exchanges AS e ON e.call_id = h.call_id AND e.client_facing
    WHERE h.decode_node IS NOT NULL
),
-- From the text shown to the abort, not the other way: overlaps are few, neighbours are not.
pairs AS (
    SELECT
        o.exchange_id,
        o.source_exchange_id,
        o.source_tenant,
        o.novel_weight,
        o.carriers,
        e.call_id,
        s.call_id AS source_call_id
    FROM "overlaps" AS o
    JOIN exchanges AS e ON e.exchange_id = o.exchange_id
    JOIN exchanges AS s ON s.exchange_id = o.source_exchange_id
    WHERE e.in_window AND o.carriers = 1
),
shown AS (
    SELECT
        o.exchange_id,
        o.source_exchange_id,
        o.source_tenant,
        o.novel_weight,
        o.carriers,
        p.node,
        p.t AS aborted_at,
        p.kind AS abort_kind,
        ROW_NUMBER() OVER (
            PARTITION BY o.exchange_id, o.source_tenant
            ORDER BY o.novel_weight DESC, o.source_exchange_id, p.t, p.kind
        ) AS shown_rank
    FROM pairs AS o
    JOIN placed AS p ON p.call_id = o.source_call_id
    JOIN decoded AS n ON n.call_id = o.call_id AND n.node = p.node
    WHERE n.t_start <= p.t + INTERVAL '60' SECOND
        AND COALESCE(n.t_end, n.t_start) >= p.t
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
