-- id: control_signals
-- title: which independent witnesses agree about the responses that are flagged or exposed
-- needs: responses, findings
-- version: 1
-- why: a shared passage, an identifier in it and the fit to another question are one witness, the
--      words of the answer; what engines say of the same call, how soon the first token came and
--      how long the prompt was are others. Only witnesses of different causes add up
WITH told AS (
    SELECT
        r.exchange_id,
        MAX(CASE
            WHEN f.rule_id IN (
                'foreign_prompt_overlap', 'foreign_response_overlap', 'foreign_mosaic',
                'fact_overlap', 'duplicate_across_tenants', 'canary_in_response', 'abort_neighbour'
            ) AND (f.disclosure IN ('proven', 'likely') OR f.rule_id = 'abort_neighbour') THEN 1
            ELSE 0
        END) AS passage,
        MAX(CASE
            WHEN f.rule_id = 'foreign_identifier' AND f.disclosure IN ('proven', 'likely') THEN 1
            ELSE 0
        END) AS identifier,
        MAX(CASE
            WHEN f.rule_id = 'answer_of_another_question'
                AND f.disclosure IN ('proven', 'likely') THEN 1
            ELSE 0
        END) AS fit,
        MAX(CASE
            WHEN f.rule_id IN (
                'pd_input_length_mismatch', 'pd_short_transfer', 'prefill_stub',
                'rejected_but_answered', 'engine_confession'
            ) THEN 1
            ELSE 0
        END) AS engine,
        MAX(CASE WHEN f.rule_id = 'impossible_first_token' THEN 1 ELSE 0 END) AS first_token,
        MAX(CASE WHEN f.rule_id = 'over_pool_accepted' THEN 1 ELSE 0 END) AS prompt_length
    FROM responses AS r
    JOIN findings AS f ON f.call_id = r.call_id
    WHERE r.excluded IS NULL AND NOT r.aborted
        AND (r.exposed OR r.grade IN ('confirmed', 'probable'))
    GROUP BY r.exchange_id
)
SELECT
    passage = 1 AS passage,
    identifier = 1 AS identifier,
    fit = 1 AS fit,
    engine = 1 AS engine,
    first_token = 1 AS first_token,
    prompt_length = 1 AS prompt_length,
    CASE WHEN passage + identifier + fit > 0 THEN 1 ELSE 0 END + engine + first_token
        + prompt_length AS witnesses,
    COUNT(*) AS responses
FROM told
GROUP BY passage, identifier, fit, engine, first_token, prompt_length
ORDER BY
    witnesses DESC,
    responses DESC,
    passage DESC,
    identifier DESC,
    fit DESC,
    engine DESC,
    first_token DESC,
    prompt_length DESC
