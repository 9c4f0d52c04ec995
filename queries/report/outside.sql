-- id: outside
-- title: responses with foreign text outside the known exposure
-- needs: responses, disclosures
-- version: 1
-- why: without exposure they are look-alikes far more often than leaks, so they stand apart
WITH apart AS (
    SELECT exchange_id, call_id, tenant, grade
    FROM responses
    WHERE NOT exposed AND NOT aborted AND excluded IS NULL AND generation = 1
        AND grade IN ('confirmed', 'probable', 'possible')
),
counted AS (
    SELECT
        grade,
        COUNT(*) AS responses,
        COUNT(DISTINCT call_id) AS calls,
        COUNT(DISTINCT tenant) AS receiving_tenants
    FROM apart
    GROUP BY grade
),
sources AS (
    SELECT a.grade, COUNT(DISTINCT d.source_tenant) AS source_tenants
    FROM apart AS a
    JOIN disclosures AS d ON d.exchange_id = a.exchange_id
    GROUP BY a.grade
)
SELECT
    c.grade,
    c.responses,
    c.calls,
    c.receiving_tenants,
    COALESCE(s.source_tenants, 0) AS source_tenants
FROM counted AS c
LEFT JOIN sources AS s ON s.grade = c.grade
ORDER BY c.grade
