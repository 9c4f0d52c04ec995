-- id: rejects_by_reason
-- title: rejected records by reason
-- needs: rejects
-- version: 1
-- why: what could not be read could hold what is looked for
SELECT reason, COUNT(*) AS records, SUM("length") AS bytes
FROM rejects
GROUP BY reason
ORDER BY reason
