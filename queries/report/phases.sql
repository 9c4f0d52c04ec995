-- id: phases
-- title: every count of the report for each declared phase, and for what lies in none
-- needs: phases, responses, exchanges, findings
-- version: 1
-- why: a fault has stopped only where as much of the traffic that met it came again and showed
--      nothing, so each phase stands beside its volume, and beside the prompts in it that were as
--      long as the shortest one that was ever over the limit
WITH shortest AS (
    SELECT MIN(prompt_tokens) AS tokens
    FROM responses
    WHERE over_limit
),
facts AS (
    SELECT
        r.event_time,
        CASE WHEN r.aborted THEN 1 ELSE 0 END AS aborted,
        CASE WHEN NOT r.aborted AND r.excluded IS NOT NULL THEN 1 ELSE 0 END AS excluded,
        CASE WHEN NOT r.aborted AND r.excluded IS NULL THEN 1 ELSE 0 END AS counted,
        r.disclosure,
        r.grade,
        CASE WHEN r.exposed THEN 1 ELSE 0 END AS exposed,
        CASE WHEN r.over_limit THEN 1 ELSE 0 END AS over_limit,
        CASE WHEN r.prompt_tokens >= s.tokens THEN 1 ELSE 0 END AS as_long,
        0 AS refused,
        0 AS finding
    FROM responses AS r
    CROSS JOIN shortest AS s
    UNION ALL
    SELECT
        t_start AS event_time,
        0 AS aborted,
        0 AS excluded,
        0 AS counted,
        '' AS disclosure,
        '' AS grade,
        0 AS exposed,
        0 AS over_limit,
        0 AS as_long,
        1 AS refused,
        0 AS finding
    FROM exchanges
    WHERE client_facing AND NOT delivered AND in_window
        AND COALESCE(outcome, 'unknown') <> 'aborted' AND prompt_tokens >= reject_at_tokens
    UNION ALL
    SELECT
        event_time,
        0 AS aborted,
        0 AS excluded,
        0 AS counted,
        '' AS disclosure,
        '' AS grade,
        0 AS exposed,
        0 AS over_limit,
        0 AS as_long,
        0 AS refused,
        1 AS finding
    FROM findings
    WHERE severity IN ('critical', 'high') AND event_time IS NOT NULL
),
placed AS (
    SELECT p.phase, f.*
    FROM phases AS p
    JOIN facts AS f
        ON (p.valid_from IS NULL OR f.event_time >= p.valid_from)
        AND (p.valid_to IS NULL OR f.event_time < p.valid_to)
    WHERE f.event_time IS NOT NULL
    UNION ALL
    SELECT 0 AS phase, f.*
    FROM facts AS f
),
sums AS (
    SELECT
        phase,
        SUM(counted) AS responses,
        SUM(
            CASE
                WHEN counted = 1 AND disclosure IN ('proven', 'likely', 'none_found') THEN 1
                ELSE 0
            END
        ) AS assessed,
        SUM(counted * over_limit) AS over_limit,
        SUM(counted * as_long) AS as_long,
        SUM(refused) AS refused,
        SUM(CASE WHEN counted = 1 AND exposed = 1 AND grade = 'confirmed' THEN 1 ELSE 0 END)
            AS confirmed,
        SUM(CASE WHEN counted = 1 AND exposed = 1 AND grade = 'probable' THEN 1 ELSE 0 END)
            AS probable,
        SUM(CASE WHEN counted = 1 AND grade = 'possible' THEN 1 ELSE 0 END) AS possible,
        SUM(
            CASE
                WHEN counted = 1 AND exposed = 0 AND grade IN ('confirmed', 'probable') THEN 1
                ELSE 0
            END
        ) AS outside,
        SUM(excluded) AS excluded,
        SUM(aborted) AS aborted,
        SUM(finding) AS findings
    FROM placed
    GROUP BY phase
),
rest AS (
    -- Phases do not overlap: what is in none is all, less what is in one.
    SELECT
        SUM(CASE WHEN phase = 0 THEN responses ELSE 0 - responses END) AS responses,
        SUM(CASE WHEN phase = 0 THEN assessed ELSE 0 - assessed END) AS assessed,
        SUM(CASE WHEN phase = 0 THEN over_limit ELSE 0 - over_limit END) AS over_limit,
        SUM(CASE WHEN phase = 0 THEN as_long ELSE 0 - as_long END) AS as_long,
        SUM(CASE WHEN phase = 0 THEN refused ELSE 0 - refused END) AS refused,
        SUM(CASE WHEN phase = 0 THEN confirmed ELSE 0 - confirmed END) AS confirmed,
        SUM(CASE WHEN phase = 0 THEN probable ELSE 0 - probable END) AS probable,
        SUM(CASE WHEN phase = 0 THEN possible ELSE 0 - possible END) AS possible,
        SUM(CASE WHEN phase = 0 THEN outside ELSE 0 - outside END) AS outside,
        SUM(CASE WHEN phase = 0 THEN excluded ELSE 0 - excluded END) AS excluded,
        SUM(CASE WHEN phase = 0 THEN aborted ELSE 0 - aborted END) AS aborted,
        SUM(CASE WHEN phase = 0 THEN findings ELSE 0 - findings END) AS findings
    FROM sums
),
listed AS (
    SELECT
        p.phase,
        p.name,
        p.valid_from,
        p.valid_to,
        s.responses,
        s.assessed,
        s.over_limit,
        s.as_long,
        s.refused,
        s.confirmed,
        s.probable,
        s.possible,
        s.outside,
        s.excluded,
        s.aborted,
        s.findings
    FROM phases AS p
    LEFT JOIN sums AS s ON s.phase = p.phase
    UNION ALL
    SELECT
        o.phases + 1 AS phase,
        'in no phase' AS name,
        o.never AS valid_from,
        o.never AS valid_to,
        r.responses,
        r.assessed,
        r.over_limit,
        r.as_long,
        r.refused,
        r.confirmed,
        r.probable,
        r.possible,
        r.outside,
        r.excluded,
        r.aborted,
        r.findings
    FROM rest AS r
    CROSS JOIN (
        SELECT COUNT(*) AS phases, MAX(CASE WHEN phase < 0 THEN valid_from END) AS never
        FROM phases
    ) AS o
    WHERE o.phases > 0
)
SELECT
    phase,
    name,
    valid_from,
    valid_to,
    CAST(COALESCE(responses, 0) AS BIGINT) AS responses,
    CAST(COALESCE(assessed, 0) AS BIGINT) AS assessed,
    CAST(COALESCE(over_limit, 0) AS BIGINT) AS over_limit,
    CAST(COALESCE(as_long, 0) AS BIGINT) AS as_long,
    CAST(COALESCE(refused, 0) AS BIGINT) AS refused,
    CAST(COALESCE(confirmed, 0) AS BIGINT) AS confirmed,
    CAST(COALESCE(probable, 0) AS BIGINT) AS probable,
    CAST(COALESCE(possible, 0) AS BIGINT) AS possible,
    CAST(COALESCE(outside, 0) AS BIGINT) AS outside,
    CAST(COALESCE(excluded, 0) AS BIGINT) AS excluded,
    CAST(COALESCE(aborted, 0) AS BIGINT) AS aborted,
    CAST(COALESCE(findings, 0) AS BIGINT) AS findings
FROM listed
ORDER BY phase
