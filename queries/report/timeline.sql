-- id: timeline
-- title: responses per day, UTC
-- needs: responses
-- version: 1
-- why: when it began and whether it has stopped
SELECT
    COALESCE(CAST(event_day AS VARCHAR), 'unknown') AS "day",
    COUNT(*) AS responses,
    SUM(CASE WHEN over_limit THEN 1 ELSE 0 END) AS over_limit,
    SUM(CASE WHEN grade = 'confirmed' THEN 1 ELSE 0 END) AS confirmed,
    SUM(CASE WHEN grade = 'probable' AND exposed THEN 1 ELSE 0 END) AS probable,
    SUM(CASE WHEN grade = 'possible' THEN 1 ELSE 0 END) AS possible
FROM responses
WHERE NOT aborted AND excluded IS NULL
GROUP BY event_day
ORDER BY event_day NULLS LAST
