-- id: text_health_outlier
-- title: the response is broken text, unlike others of its model and node
-- severity: low
-- needs: text_health
-- version: 1
-- why: memory that was never written gives loops, broken characters and template tokens rather
--      than somebody's text; alone it is a lead and no proof
WITH judged AS (
    SELECT
        *,
        CASE
            WHEN deviation_repetition >= 10000 AND loop_tokens >= 40 THEN 1 ELSE 0
        END AS loops,
        CASE
            WHEN deviation_compression >= 6000 AND response_bytes >= 400 THEN 1 ELSE 0
        END AS compressible,
        CASE
            WHEN deviation_characters >= 6000
                AND replacement_characters + control_characters + rare_characters >= 3
                THEN 1
            ELSE 0
        END AS broken_characters,
        CASE WHEN template_tokens > 0 THEN 1 ELSE 0 END AS leaks_template,
        CASE
            WHEN script_changes > 0 AND writing_differs AND response_tokens >= 80 THEN 1 ELSE 0
        END AS changes_script
    FROM text_health
)
SELECT
    exchange_id,
    loops = 1 AS loops,
    compressible = 1 AS compressible,
    broken_characters = 1 AS broken_characters,
    leaks_template = 1 AS leaks_template,
    changes_script = 1 AS changes_script,
    response_tokens,
    loop_tokens,
    distinct_2,
    compression,
    replacement_characters,
    control_characters,
    rare_characters,
    template_tokens,
    script_changes,
    deviation_repetition,
    deviation_compression,
    deviation_characters
FROM judged
WHERE loops + broken_characters + leaks_template + changes_script > 0
ORDER BY exchange_id
