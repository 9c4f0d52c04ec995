-- id: disclosures
-- title: delivered response x source tenant with the strongest disclosure found
-- needs: findings, response_twins
-- keep: rows
-- version: 1
-- why: one answer may show text of several tenants; each of them has to be told
SELECT
    t.exchange_id,
    f.source_tenant,
    MAX(CASE WHEN f.disclosure = 'proven' THEN 2 ELSE 1 END) AS disclosure_rank
FROM findings AS f
JOIN response_twins AS t ON t.twin_exchange_id = f.exchange_id
WHERE f.disclosure IN ('proven', 'likely')
GROUP BY t.exchange_id, f.source_tenant
