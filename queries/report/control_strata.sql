-- id: control_strata
-- title: responses outside the known exposure as controls of the exposed ones, by stratum
-- needs: responses, exchanges
-- version: 1
-- why: the same rules on answers that no trigger points at show how often they hit by chance;
--      strata keep days, lengths and tenants of different size from being compared with each other
WITH sizes AS (
    SELECT tenant, COUNT(*) AS responses
    FROM responses
    WHERE tenant IS NOT NULL
    GROUP BY tenant
),
told AS (
    SELECT
        COALESCE(CAST(r.event_day AS VARCHAR), 'unknown') AS event_day,
        CASE
            WHEN e.response_bytes < 200 THEN 'below 200 bytes'
            WHEN e.response_bytes < 1000 THEN '200 to 999 bytes'
            WHEN e.response_bytes < 4000 THEN '1000 to 3999 bytes'
            ELSE '4000 bytes and more'
        END AS length_class,
        CASE
            WHEN s.responses < 10 THEN 'below 10 responses'
            WHEN s.responses < 100 THEN '10 to 99 responses'
            WHEN s.responses < 1000 THEN '100 to 999 responses'
            ELSE '1000 responses and more'
        END AS tenant_class,
        CASE WHEN r.exposed THEN 1 ELSE 0 END AS exposed,
        CASE WHEN r.grade IN ('confirmed', 'probable') THEN 1 ELSE 0 END AS hit
    FROM responses AS r
    JOIN exchanges AS e ON e.exchange_id = r.exchange_id
    JOIN sizes AS s ON s.tenant = r.tenant
    WHERE r.disclosure <> 'not_assessable'
        AND r.excluded IS NULL
        AND NOT r.aborted
        AND r.generation = 1
)
SELECT
    event_day,
    length_class,
    tenant_class,
    SUM(exposed) AS exposed,
    SUM(1 - exposed) AS controls,
    SUM((1 - exposed) * hit) AS control_hits
FROM told
GROUP BY event_day, length_class, tenant_class
ORDER BY event_day, length_class, tenant_class
