-- id: findings_by_severity
-- title: findings by severity
-- needs: findings
-- version: 1
-- why: the list of findings may be cut, these counts are not
SELECT severity, COUNT(*) AS findings
FROM findings
GROUP BY severity
ORDER BY severity
