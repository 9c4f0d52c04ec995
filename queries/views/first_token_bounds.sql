-- id: first_token_bounds
-- title: the fastest prefill that a deployment has shown, with how it was learnt
-- needs: first_tokens
-- keep: rows
-- version: 1
-- why: the bound is learnt from prompts below the limit where one is known, else from all, of which
--      the fastest third may be what is looked for; short prompts understate the speed, hence a
--      factor of four and a floor that no node of today reaches with a large model
WITH learning AS (
    SELECT
        model,
        deployment,
        rate,
        fresh_tokens,
        below_limit,
        MAX(CASE WHEN below_limit THEN 1 ELSE 0 END) OVER (
            PARTITION BY model, deployment
        ) AS limit_known
    FROM first_tokens
),
ranked AS (
    SELECT
        model,
        deployment,
        rate,
        fresh_tokens,
        limit_known,
        ROW_NUMBER() OVER (PARTITION BY model, deployment ORDER BY rate, fresh_tokens) AS place,
        COUNT(*) OVER (PARTITION BY model, deployment) AS samples
    FROM learning
    WHERE limit_known = 0 OR below_limit
)
SELECT
    model,
    deployment,
    MAX(samples) AS samples,
    MAX(fresh_tokens) AS longest_sample_tokens,
    MAX(CASE WHEN limit_known = 1 THEN 99 ELSE 67 END) AS percentile,
    MAX(
        CASE
            WHEN place * 100 <= samples * (CASE WHEN limit_known = 1 THEN 99 ELSE 67 END) THEN rate
        END
    ) AS seen_rate,
    CASE
        WHEN 4 * MAX(
            CASE
                WHEN place * 100 <= samples * (CASE WHEN limit_known = 1 THEN 99 ELSE 67 END)
                    THEN rate
            END
        ) > 100000
            THEN 4 * MAX(
                CASE
                    WHEN place * 100 <= samples * (CASE WHEN limit_known = 1 THEN 99 ELSE 67 END)
                        THEN rate
                END
            )
        ELSE 100000
    END AS bound_rate
FROM ranked
GROUP BY model, deployment
