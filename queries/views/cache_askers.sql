-- id: cache_askers
-- title: who had sent the prompt of a cache hit, and since when
-- needs: exchanges
-- keep: rows
-- version: 1
-- why: a gateway's cache hands over what was answered to the same prompt of another tenant
SELECT e.prompt_hmac, e.tenant, MIN(e.t_start) AS first_time
FROM exchanges AS e
WHERE e.tenant IS NOT NULL
    AND EXISTS (
        SELECT 1 FROM exchanges AS h WHERE h.cache_hit AND h.prompt_hmac = e.prompt_hmac
    )
GROUP BY e.prompt_hmac, e.tenant
