-- id: assessability
-- title: what keeps a delivered response from being judged, one row per response
-- needs: exchanges, response_twins
-- keep: rows
-- version: 1
-- why: nothing found means nothing where nothing could have been found
WITH seen AS (
    SELECT
        t.exchange_id,
        MAX(CASE WHEN e.judged THEN 1 ELSE 0 END) AS judged,
        MAX(CASE WHEN e.judged AND e.response_state = 'full' THEN 1 ELSE 0 END) AS judged_full,
        MAX(CASE WHEN e.response_state = 'full' THEN 1 ELSE 0 END) AS text_full,
        MAX(e.foreign_exchanges) AS foreign_exchanges
    FROM response_twins AS t
    JOIN exchanges AS e ON e.exchange_id = t.twin_exchange_id
    GROUP BY t.exchange_id
),
flags AS (
    SELECT
        d.exchange_id,
        s.judged = 1 AS judged,
        s.text_full = 0 AS text_incomplete,
        d.tenant IS NULL OR COALESCE(d.unjudged_reason, '') = 'tenant_unknown' AS tenant_unknown,
        COALESCE(d.unjudged_reason, '') = 'time_unknown' OR d.t_start IS NULL AS time_unknown,
        s.judged = 0 AND (
            COALESCE(d.unjudged_reason, '') = 'text_absent'
            OR COALESCE(d.response_state, 'absent') = 'absent'
        ) AS text_absent,
        s.judged = 0 AND (
            COALESCE(d.unjudged_reason, '') = 'encrypted'
            OR COALESCE(d.response_state, '') = 'encrypted'
        ) AS encrypted,
        s.judged = 0 AND (
            COALESCE(d.unjudged_reason, '') = 'ids_only'
            OR COALESCE(d.response_state, '') = 'ids_only'
        ) AS ids_only,
        COALESCE(d.unjudged_reason, '') = 'stateful'
            OR COALESCE(d.response_state, '') = 'stateful'
            OR (
                COALESCE(d.prompt_state, '') = 'stateful'
                AND NOT COALESCE(d.own_prompt_complete, FALSE)
            ) AS stateful,
        s.judged_full = 0 AND (
            s.judged = 1
            OR COALESCE(d.response_state, '') IN ('truncated', 'redacted', 'external')
        ) AS response_incomplete,
        d.tenant IS NOT NULL
            AND d.t_start IS NOT NULL
            AND COALESCE(s.foreign_exchanges, 0) = 0 AS no_foreign_corpus,
        NOT COALESCE(d.own_prompt_complete, FALSE) AS own_prompt_incomplete,
        -- A picture, recording or file of the own prompt was not read: its text looks foreign,
        -- and the prompt that excludes own text is not whole.
        COALESCE(
            CAST(d.modalities AS VARCHAR) LIKE '%image%'
            OR CAST(d.modalities AS VARCHAR) LIKE '%audio%'
            OR CAST(d.modalities AS VARCHAR) LIKE '%file%',
            FALSE
        ) AS unlogged_image
    FROM exchanges AS d
    JOIN seen AS s ON s.exchange_id = d.exchange_id
)
SELECT
    exchange_id,
    judged,
    text_incomplete,
    tenant_unknown,
    time_unknown,
    text_absent,
    encrypted,
    ids_only,
    stateful,
    response_incomplete,
    no_foreign_corpus,
    own_prompt_incomplete,
    unlogged_image,
    NOT judged AND NOT (
        tenant_unknown OR time_unknown OR text_absent OR encrypted OR ids_only OR stateful
        OR response_incomplete
    ) AS not_searched,
    judged AND NOT (
        tenant_unknown OR time_unknown OR stateful OR response_incomplete OR no_foreign_corpus
        OR own_prompt_incomplete OR unlogged_image
    ) AS assessable
FROM flags
