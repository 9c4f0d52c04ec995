-- id: period
-- title: first and last time of the exchanges in the window
-- needs: exchanges
-- version: 1
-- why: a report without the time it covers cannot be compared with another
SELECT MIN(t_start) AS period_start, MAX(COALESCE(t_end, t_start)) AS period_end
FROM exchanges
WHERE in_window
ORDER BY 1
