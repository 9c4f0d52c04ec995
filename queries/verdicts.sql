-- id: verdicts
-- title: one grade per delivered response, from what is exposed and what is disclosed
-- needs: exchanges, findings, overlaps, second_hand, exposure, exposed_calls, foreign_spans, response_twins, disclosures, assessability, gateway_cache, call_requests, leak_points, score_points
-- version: 2
-- why: two axes, because "computed on memory it did not own" and "shows foreign text" are
--      different questions; the grade is derived from both and from nothing else. The score ranks
--      answers within and across grades: what all evidence of one source tenant weighs, turned into
--      a probability (score_points)
WITH disclosed AS (
    SELECT exchange_id, MAX(disclosure_rank) AS disclosure_rank
    FROM disclosures
    GROUP BY exchange_id
),
candidates AS (
    -- A span names its source best; what other rules found stands behind it.
    SELECT
        t.exchange_id,
        0 AS kind,
        s.source_tenant,
        s.source_exchange_id,
        CASE WHEN s.source_carries THEN 0 ELSE 1 END AS second_hand,
        s.novel_weight,
        s.lag_ms,
        s.field,
        s.response_start
    FROM foreign_spans AS s
    JOIN response_twins AS t ON t.twin_exchange_id = s.exchange_id
    UNION ALL
    SELECT
        t.exchange_id,
        CASE WHEN f.disclosure = 'proven' THEN 1 ELSE 2 END AS kind,
        f.source_tenant,
        f.source_exchange_id,
        0 AS second_hand,
        0 AS novel_weight,
        CAST(NULL AS BIGINT) AS lag_ms,
        f.rule_id AS field,
        0 AS response_start
    FROM findings AS f
    JOIN response_twins AS t ON t.twin_exchange_id = f.exchange_id
    WHERE f.source_tenant IS NOT NULL AND f.disclosure IN ('proven', 'likely')
),
ranked_sources AS (
    SELECT
        c.exchange_id,
        c.source_tenant,
        c.source_exchange_id,
        ROW_NUMBER() OVER (
            PARTITION BY c.exchange_id
            ORDER BY
                c.kind,
                c.second_hand,
                c.novel_weight DESC,
                c.lag_ms DESC NULLS LAST,
                c.source_exchange_id,
                c.field,
                c.response_start
        ) AS source_rank
    FROM candidates AS c
),
alike AS (
    -- The same passage, but both had asked the same.
    SELECT t.exchange_id, COUNT(*) AS spans
    FROM "overlaps" AS o
    JOIN response_twins AS t ON t.twin_exchange_id = o.exchange_id
    WHERE o.carriers = 1 AND o.novel_weight >= 24 AND o.prompt_similarity_permille >= 500
    GROUP BY t.exchange_id
),
swapped AS (
    -- Nothing but the fit to another question speaks for these.
    SELECT
        t.exchange_id,
        MAX(CASE
            WHEN f.rule_id IN ('answer_of_another_question', 'duplicate_across_tenants') THEN 0
            ELSE 1
        END) AS others
    FROM findings AS f
    JOIN response_twins AS t ON t.twin_exchange_id = f.exchange_id
    WHERE f.disclosure IN ('proven', 'likely')
    GROUP BY t.exchange_id
),
shared AS (
    SELECT t.exchange_id, COUNT(*) AS spans
    FROM "overlaps" AS o
    JOIN response_twins AS t ON t.twin_exchange_id = o.exchange_id
    WHERE o.carriers > 1 AND o.novel_weight >= 24
    GROUP BY t.exchange_id
),
counted AS (
    SELECT call_id, COUNT(*) AS findings
    FROM findings
    WHERE call_id IS NOT NULL
    GROUP BY call_id
),
second AS (
    -- Any record of the call may be the one whose prompt is there to be read.
    SELECT DISTINCT e.call_id
    FROM second_hand AS s
    JOIN exchanges AS e ON e.exchange_id = s.exchange_id
),
weighed AS (
    SELECT t.exchange_id, MAX(p.points) AS points
    FROM leak_points AS p
    JOIN response_twins AS t ON t.twin_exchange_id = p.exchange_id
    GROUP BY t.exchange_id
),
judged AS (
    SELECT
        d.exchange_id,
        d.call_id,
        COALESCE(
            CASE WHEN d.role = 'gateway' THEN d.request_id END, r.request_id, d.request_id
        ) AS request_id,
        d.tenant,
        d.excluded,
        d.t_start,
        CASE
            WHEN c.exposure_rank = 2 THEN 'proven'
            WHEN c.exposure_rank = 1 THEN 'likely'
            WHEN x.known THEN 'none'
            ELSE 'unknown'
        END AS exposure,
        CASE
            WHEN p.disclosure_rank = 2 AND d.tenant IS NOT NULL THEN 'proven'
            WHEN p.disclosure_rank >= 1 AND d.tenant IS NOT NULL THEN 'likely'
            WHEN g.exchange_id IS NOT NULL THEN 'none_found'
            WHEN a.assessable THEN 'none_found'
            ELSE 'not_assessable'
        END AS disclosure,
        CASE
            WHEN g.exchange_id IS NOT NULL THEN u.millinats
            ELSE COALESCE(v.points, CASE WHEN a.assessable THEN u.millinats ELSE w.millinats END)
                + CASE
                    WHEN c.exposure_rank = 2 THEN xp.millinats
                    WHEN c.exposure_rank = 1 THEN xl.millinats
                    ELSE 0
                END
        END AS points,
        g.exchange_id IS NOT NULL AS cached,
        COALESCE(h.spans, 0) > 0 AS shared_text,
        COALESCE(q.spans, 0) > 0 AS same_question,
        COALESCE(y.others, 1) = 0 AS swap_only,
        COALESCE(c.exposure_rank, 0) > 0 AND COALESCE(c.firm, 0) = 0 AS limit_band,
        b.source_tenant,
        b.source_exchange_id,
        COALESCE(n.findings, 0) AS findings,
        a.encrypted,
        a.ids_only,
        a.no_foreign_corpus,
        a.not_searched,
        a.own_prompt_incomplete,
        a.response_incomplete,
        z.call_id IS NOT NULL AS second_hand,
        a.stateful,
        a.tenant_unknown,
        a.text_absent,
        a.time_unknown,
        a.unlogged_image
    FROM exchanges AS d
    JOIN exposure AS x ON x.exchange_id = d.exchange_id
    JOIN assessability AS a ON a.exchange_id = d.exchange_id
    LEFT JOIN exposed_calls AS c ON c.call_id = d.call_id
    LEFT JOIN call_requests AS r ON r.call_id = d.call_id
    LEFT JOIN disclosed AS p ON p.exchange_id = d.exchange_id
    LEFT JOIN ranked_sources AS b ON b.exchange_id = d.exchange_id AND b.source_rank = 1
    LEFT JOIN gateway_cache AS g ON g.exchange_id = d.exchange_id
    LEFT JOIN shared AS h ON h.exchange_id = d.exchange_id
    LEFT JOIN alike AS q ON q.exchange_id = d.exchange_id
    LEFT JOIN swapped AS y ON y.exchange_id = d.exchange_id
    LEFT JOIN counted AS n ON n.call_id = d.call_id
    LEFT JOIN second AS z ON z.call_id = d.call_id
    LEFT JOIN weighed AS v ON v.exchange_id = d.exchange_id
    JOIN score_points AS u ON u.term = 'nothing'
    JOIN score_points AS w ON w.term = 'prior'
    JOIN score_points AS xl ON xl.term = 'exposure_likely'
    JOIN score_points AS xp ON xp.term = 'exposure_proven'
    WHERE d.delivered AND d.in_window
),
graded AS (
    SELECT
        j.*,
        CASE
            WHEN disclosure = 'proven' THEN 'confirmed'
            WHEN disclosure = 'likely' THEN 'probable'
            WHEN exposure IN ('likely', 'proven') THEN 'possible'
            WHEN disclosure = 'none_found' THEN 'cleared'
            ELSE 'not_assessable'
        END AS grade
    FROM judged AS j
)
SELECT
    exchange_id,
    request_id,
    call_id,
    tenant,
    grade,
    exposure,
    disclosure,
    -- A millionth is the least step: engines may differ in the last bit of EXP.
    FLOOR(1000000.0 / (1.0 + EXP(0.0 - CAST(points AS DOUBLE) / 1000.0)) + 0.5) / 1000000.0
        AS score,
    CASE
        WHEN grade IN ('confirmed', 'probable') AND swap_only THEN 'response_swap'
        WHEN grade IN ('confirmed', 'probable') THEN 'kv_leak'
        WHEN cached AND grade = 'cleared' THEN 'gateway_cache'
        WHEN same_question THEN 'same_question'
        WHEN shared_text THEN 'shared_text'
    END AS cause,
    -- Foreign text that the own prompt does not hold is a leak of its own.
    CASE WHEN second_hand AND grade <> 'confirmed' AND grade <> 'probable' THEN 2 END AS generation,
    excluded,
    CASE WHEN grade IN ('confirmed', 'probable') THEN source_tenant END AS source_tenant,
    CASE WHEN grade IN ('confirmed', 'probable') THEN source_exchange_id END AS source_exchange_id,
    findings,
    t_start AS event_time,
    SUBSTR(
        CASE WHEN exposure = 'unknown' THEN ',capacity_unknown' ELSE '' END
        || CASE WHEN encrypted THEN ',encrypted' ELSE '' END
        || CASE WHEN ids_only THEN ',ids_only' ELSE '' END
        || CASE WHEN limit_band THEN ',limit_band' ELSE '' END
        || CASE WHEN no_foreign_corpus THEN ',no_foreign_corpus' ELSE '' END
        || CASE WHEN not_searched THEN ',not_searched' ELSE '' END
        || CASE WHEN own_prompt_incomplete THEN ',own_prompt_incomplete' ELSE '' END
        || CASE WHEN response_incomplete THEN ',response_incomplete' ELSE '' END
        || CASE WHEN second_hand THEN ',second_hand' ELSE '' END
        || CASE WHEN stateful THEN ',stateful' ELSE '' END
        || CASE WHEN tenant_unknown THEN ',tenant_unknown' ELSE '' END
        || CASE WHEN text_absent THEN ',text_absent' ELSE '' END
        || CASE WHEN time_unknown THEN ',time_unknown' ELSE '' END
        || CASE WHEN unlogged_image THEN ',unlogged_image' ELSE '' END,
        2
    ) AS reasons
FROM graded
ORDER BY exchange_id
