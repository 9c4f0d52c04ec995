-- id: excluded
-- title: responses of internal and researcher tenants by grade
-- needs: responses
-- version: 1
-- why: what is left out of the number stays visible
SELECT
    excluded AS kind,
    grade,
    SUM(CASE WHEN exposed THEN 1 ELSE 0 END) AS exposed,
    COUNT(*) AS responses
FROM responses
WHERE excluded IS NOT NULL AND NOT aborted
GROUP BY excluded, grade
ORDER BY excluded, grade
