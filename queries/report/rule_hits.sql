-- id: rule_hits
-- title: findings by rule
-- needs: findings
-- version: 1
-- why: the program adds the rules that found nothing
SELECT rule_id, COUNT(*) AS hits
FROM findings
GROUP BY rule_id
ORDER BY rule_id
