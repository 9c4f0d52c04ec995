-- id: canary_in_response
-- title: a canary that was made for another tenant stands in a response
-- severity: critical
-- disclosure: proven
-- needs: identifiers, exchanges
-- version: 1
-- why: a marker made for one tenant is in no model and in no book; only that tenant's text holds it
WITH ranked AS (
    SELECT
        i.*,
        ROW_NUMBER() OVER (
            PARTITION BY i.exchange_id, i.source_tenant
            ORDER BY i.value_bits DESC, i.field, i.response_start, i.value_hmac, i.pattern
        ) AS place,
        COUNT(*) OVER (PARTITION BY i.exchange_id, i.source_tenant) AS canaries
    FROM identifiers AS i
    JOIN exchanges AS e ON e.exchange_id = i.exchange_id
    WHERE e.in_window
        AND i.kind = 'canary'
        AND NOT i.in_own_prompt
        AND i.tenant IS NOT NULL
        AND i.tenant <> i.source_tenant
)
SELECT
    exchange_id,
    source_tenant,
    field,
    pattern,
    value_hmac,
    masked,
    value_bits,
    response_start,
    response_end,
    canaries
FROM ranked
WHERE place = 1
ORDER BY exchange_id, source_tenant
