-- id: gateway_cache_cross_tenant
-- title: the gateway's cache answered one tenant with the answer made for another
-- severity: medium
-- needs: gateway_cache, exchanges
-- version: 1
-- why: the prompt was the same, so nothing leaked from engine memory; that the cache is shared
--      between tenants is still worth knowing
SELECT
    g.exchange_id,
    g.source_exchange_id,
    g.source_tenant,
    g.source_time,
    e.prompt_hmac
FROM gateway_cache AS g
JOIN exchanges AS e ON e.exchange_id = g.exchange_id
ORDER BY g.exchange_id
