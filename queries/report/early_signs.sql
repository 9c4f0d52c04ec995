-- id: early_signs
-- title: trouble that depends on length, abort or node more than on the hour or the link
-- needs: early_signs
-- version: 1
-- why: what was taken for trouble of the network becomes a lead with a date; the factors it was
--      compared with stand beside it, and nothing here is a verdict
SELECT
    s."month",
    s.version,
    s.sign,
    s.factor,
    s.level,
    s.calls,
    s.troubled,
    s.calls_at_level,
    s.troubled_at_level,
    s.levels,
    s.log10_p_permille,
    s.log10_p_holm_permille,
    COALESCE(r.rival_log10_p_permille, 0) AS rival_log10_p_permille,
    s.first_time,
    s.last_time
FROM early_signs AS s
LEFT JOIN (
    SELECT "month", version, sign, MIN(log10_p_permille) AS rival_log10_p_permille
    FROM early_signs
    WHERE factor IN ('hour', 'link')
    GROUP BY "month", version, sign
) AS r ON r."month" = s."month" AND r.version = s.version AND r.sign = s.sign
WHERE s.lead
ORDER BY s."month", s.version, s.sign, s.factor
