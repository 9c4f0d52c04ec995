-- id: aborted
-- title: responses whose stream was broken off
-- needs: responses
-- version: 1
-- why: a part was handed over, so they are listed; they are in none of the numbers
SELECT
    COUNT(*) AS responses,
    COALESCE(SUM(CASE WHEN over_limit THEN 1 ELSE 0 END), 0) AS over_limit,
    COALESCE(SUM(CASE WHEN disclosure IN ('proven', 'likely') THEN 1 ELSE 0 END), 0)
        AS with_foreign_text
FROM responses
WHERE aborted
ORDER BY 1
