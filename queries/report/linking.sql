-- id: linking
-- title: exchanges, calls and refused links
-- needs: exchanges
-- version: 1
-- why: a call that is torn apart looks like a leak to itself, one that is glued hides a leak
SELECT
    COUNT(*) AS exchanges,
    COUNT(DISTINCT call_id) AS calls,
    COUNT(DISTINCT collision_id) AS collisions,
    COALESCE(SUM(CASE WHEN delivered THEN 1 ELSE 0 END), 0) AS delivered,
    COALESCE(SUM(CASE WHEN reject_at_tokens IS NOT NULL THEN 1 ELSE 0 END), 0)
        AS with_capacity
FROM exchanges
WHERE in_window
ORDER BY 1
