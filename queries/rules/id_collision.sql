-- id: id_collision
-- title: one id names several calls
-- severity: low
-- needs: exchanges
-- version: 1
-- why: exchanges that share an id by accident must not be read as one call, or a leak would hide
--      as the call's own text; their links were dropped
WITH numbered AS (
    SELECT
        collision_id,
        exchange_id,
        ROW_NUMBER() OVER (
            PARTITION BY collision_id ORDER BY t_start NULLS LAST, exchange_id
        ) AS place
    FROM exchanges
    WHERE collision_id IS NOT NULL
),
counted AS (
    SELECT
        collision_id,
        MIN(collision_reason) AS collision_reason,
        COUNT(*) AS exchanges,
        COUNT(DISTINCT tenant) AS tenants
    FROM exchanges
    WHERE collision_id IS NOT NULL
    GROUP BY collision_id
)
SELECT
    n.exchange_id,
    n.collision_id AS finding_key,
    n.collision_id,
    c.collision_reason,
    c.exchanges,
    c.tenants
FROM numbered AS n
JOIN counted AS c ON c.collision_id = n.collision_id
WHERE n.place = 1
ORDER BY n.collision_id
