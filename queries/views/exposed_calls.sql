-- id: exposed_calls
-- title: calls with an exposure finding, and whether it is firm
-- needs: findings, exposure
-- keep: rows
-- version: 1
-- why: where only the smaller of several possible limits was reached, exposure bears no proof
SELECT
    f.call_id,
    MAX(CASE WHEN f.exposure = 'proven' THEN 2 ELSE 1 END) AS exposure_rank,
    MAX(
        CASE
            WHEN f.exposure = 'proven' THEN 1
            WHEN f.rule_id <> 'over_pool_accepted' THEN 1
            WHEN COALESCE(x.band, FALSE) THEN 0
            ELSE 1
        END
    ) AS firm
FROM findings AS f
LEFT JOIN exposure AS x ON x.exchange_id = f.exchange_id
WHERE f.exposure IN ('likely', 'proven') AND f.call_id IS NOT NULL
GROUP BY f.call_id
