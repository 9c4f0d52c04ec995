-- id: foreign_response_overlap
-- title: text of another tenant's response stands in a response
-- severity: column
-- disclosure: column
-- needs: foreign_spans, findings
-- version: 1
-- why: twelve or more words that the model had told one other tenant alone have no business here
WITH ranked AS (
    SELECT
        s.*,
        ROW_NUMBER() OVER (
            PARTITION BY s.exchange_id, s.source_tenant
            ORDER BY
                CASE s.disclosure WHEN 'proven' THEN 0 ELSE 1 END,
                CASE WHEN s.source_carries THEN 0 ELSE 1 END,
                s.novel_weight DESC,
                s.lag_ms DESC NULLS LAST,
                s.source_exchange_id,
                s.field,
                s.response_start,
                s.source_start
        ) AS span_rank,
        COUNT(*) OVER (PARTITION BY s.exchange_id, s.source_tenant) AS spans
    FROM foreign_spans AS s
    WHERE s.source_side = 'response'
)
SELECT
    exchange_id,
    source_exchange_id,
    source_tenant,
    CASE disclosure WHEN 'proven' THEN 'critical' ELSE 'high' END AS severity,
    disclosure,
    field,
    response_start,
    response_end,
    source_field,
    source_start,
    source_end,
    tokens,
    novel_tokens,
    novel_weight,
    carriers,
    source_carries,
    lag_ms,
    time_order AS "order",
    same_share_group,
    turnovers,
    surprise_millibits,
    own_fit_permille,
    prompt_similarity_permille,
    at_cut,
    span_hmac,
    own_prompt_complete,
    exposed,
    limit_band,
    spans
FROM ranked
WHERE span_rank = 1
ORDER BY exchange_id, source_tenant
