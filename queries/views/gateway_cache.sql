-- id: gateway_cache
-- title: gateway cache hits whose prompt another tenant had sent before
-- needs: exchanges
-- keep: rows
-- version: 1
-- why: a shared gateway cache answers the same prompt with the same text; that is no KV leak
WITH hits AS (
    SELECT exchange_id, tenant, prompt_hmac, t_start
    FROM exchanges
    WHERE cache_hit AND in_window AND tenant IS NOT NULL AND prompt_hmac IS NOT NULL
        AND t_start IS NOT NULL
),
firsts AS (
    SELECT
        e.prompt_hmac,
        e.tenant,
        e.exchange_id,
        e.t_start,
        ROW_NUMBER() OVER (
            PARTITION BY e.prompt_hmac, e.tenant ORDER BY e.t_start, e.exchange_id
        ) AS within_tenant
    FROM exchanges AS e
    WHERE e.tenant IS NOT NULL AND e.t_start IS NOT NULL
        AND EXISTS (SELECT 1 FROM hits AS h WHERE h.prompt_hmac = e.prompt_hmac)
),
-- The two earliest tenants of a prompt are enough: one of them is not the receiver.
earliest AS (
    SELECT
        prompt_hmac,
        tenant,
        exchange_id,
        t_start,
        ROW_NUMBER() OVER (PARTITION BY prompt_hmac ORDER BY t_start, exchange_id) AS tenant_rank
    FROM firsts
    WHERE within_tenant = 1
),
pairs AS (
    SELECT
        h.exchange_id,
        l.exchange_id AS source_exchange_id,
        l.tenant AS source_tenant,
        l.t_start AS source_time,
        ROW_NUMBER() OVER (PARTITION BY h.exchange_id ORDER BY l.tenant_rank) AS pair_rank
    FROM hits AS h
    JOIN earliest AS l
        ON l.prompt_hmac = h.prompt_hmac AND l.tenant <> h.tenant AND l.t_start < h.t_start
    WHERE l.tenant_rank <= 2
)
SELECT exchange_id, source_exchange_id, source_tenant, source_time
FROM pairs
WHERE pair_rank = 1
