-- id: headline
-- title: floor, best and ceiling over the exposed responses
-- needs: responses, disclosures
-- version: 1
-- why: confirmed, with probable, with possible; internal, researcher, broken-off and second-hand
--      answers are counted elsewhere
WITH numbers AS (
    SELECT 1 AS place, 'floor' AS number
    UNION ALL SELECT 2 AS place, 'best' AS number
    UNION ALL SELECT 3 AS place, 'ceiling' AS number
),
graded AS (
    SELECT
        exchange_id,
        call_id,
        tenant,
        event_time,
        CASE grade WHEN 'confirmed' THEN 1 WHEN 'probable' THEN 2 ELSE 3 END AS place
    FROM responses
    WHERE exposed AND NOT aborted AND excluded IS NULL AND generation = 1
        AND grade IN ('confirmed', 'probable', 'possible')
),
counted AS (
    SELECT
        n.place,
        COUNT(g.exchange_id) AS responses,
        COUNT(DISTINCT g.call_id) AS calls,
        COUNT(DISTINCT g.tenant) AS receiving_tenants,
        MIN(g.event_time) AS first_time,
        MAX(g.event_time) AS last_time
    FROM numbers AS n
    LEFT JOIN graded AS g ON g.place <= n.place
    GROUP BY n.place
),
sources AS (
    SELECT n.place, COUNT(DISTINCT d.source_tenant) AS source_tenants
    FROM numbers AS n
    JOIN graded AS g ON g.place <= n.place
    JOIN disclosures AS d ON d.exchange_id = g.exchange_id
    GROUP BY n.place
)
SELECT
    n.number,
    c.responses,
    c.calls,
    c.receiving_tenants,
    COALESCE(s.source_tenants, 0) AS source_tenants,
    c.first_time,
    c.last_time
FROM numbers AS n
JOIN counted AS c ON c.place = n.place
LEFT JOIN sources AS s ON s.place = n.place
ORDER BY n.place
