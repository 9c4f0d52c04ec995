-- id: answer_of_another_question
-- title: the response answers another tenant's question
-- severity: column
-- disclosure: column
-- needs: attributions, exchanges, exposure, response_twins, leak_points, score_points
-- version: 2
-- why: of all prompts that were recent or in flight, another tenant's explains the answer far
--      better than its own does; the cut is one expected false hit in 10,000 assessable
--      responses, and one in 200 where the prompt reached the limit of the engine, since a swap
--      is likely there; up to one in 1,000 it counts where all evidence of that tenant weighs
--      enough (leak_points), and is a lead that grades nothing elsewhere or in a log too
--      small to tell
WITH exposed AS (
    SELECT
        t.twin_exchange_id AS exchange_id,
        MAX(CASE WHEN x.over_limit AND x.accepted THEN 1 ELSE 0 END) AS exposed
    FROM exposure AS x
    JOIN response_twins AS t ON t.exchange_id = x.exchange_id
    GROUP BY t.twin_exchange_id
),
sample AS (
    -- A chance of one in 10,000 cannot be read from a few hundred answers.
    SELECT
        COUNT(*) >= 5000 AS tells_rare,
        COUNT(*) >= 200 AS tells_common
    FROM attributions
    WHERE assessable
),
judged AS (
    SELECT
        a.*,
        COALESCE(x.exposed, 0) AS exposed,
        CASE WHEN COALESCE(x.exposed, 0) = 1 THEN 0.005 ELSE 0.0001 END AS p_cut,
        CASE WHEN COALESCE(x.exposed, 0) = 1 THEN s.tells_common ELSE s.tells_rare END AS told,
        COALESCE(p.points >= c.millinats, FALSE) AS weighty
    FROM attributions AS a
    CROSS JOIN sample AS s
    LEFT JOIN exposed AS x ON x.exchange_id = a.exchange_id
    LEFT JOIN leak_points AS p
        ON p.exchange_id = a.exchange_id AND p.source_tenant = a.best_tenant
    LEFT JOIN score_points AS c ON c.term = 'cut'
    WHERE a.assessable AND a.best_exchange_id IS NOT NULL
)
SELECT
    j.exchange_id,
    j.best_exchange_id AS source_exchange_id,
    j.best_tenant AS source_tenant,
    CASE
        WHEN j.told AND (j.p_value <= j.p_cut OR (j.weighty AND j.p_value <= 0.001)) THEN 'high'
        ELSE 'low'
    END AS severity,
    CASE
        WHEN j.told AND (j.p_value <= j.p_cut OR (j.weighty AND j.p_value <= 0.001)) THEN 'likely'
    END AS disclosure,
    j.own_score,
    j.own_rank,
    j.candidates,
    j.best_score,
    j.chance_score,
    j.margin,
    j.p_value,
    j.p_cut,
    j.exposed = 1 AS exposed,
    j.same_node,
    j.method
FROM judged AS j
JOIN exchanges AS e ON e.exchange_id = j.exchange_id
WHERE j.p_value <= CASE WHEN j.p_cut > 0.001 THEN j.p_cut ELSE 0.001 END
    AND COALESCE(j.own_rank, 2) > 1
    AND NOT COALESCE(e.cache_hit, FALSE)
ORDER BY j.exchange_id
