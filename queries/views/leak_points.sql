-- id: leak_points
-- title: response x tenant whose text it may show, with what the evidence weighs together
-- needs: leak_evidence, score_points
-- keep: rows
-- version: 1
-- why: a sum of points can be read and disputed term by term; in thousandths of a nat of the odds
--      that the answer shows text of that tenant, one leak in 1,000 answers being assumed
WITH terms AS (
    SELECT exchange_id, source_tenant, 'base' AS term, CAST(0 AS BIGINT) AS amount
    FROM leak_evidence
    UNION ALL
    SELECT exchange_id, source_tenant, 'span_microbits' AS term, span_microbits AS amount
    FROM leak_evidence
    UNION ALL
    SELECT exchange_id, source_tenant, 'word_microbits' AS term, word_microbits AS amount
    FROM leak_evidence
    UNION ALL
    SELECT exchange_id, source_tenant, 'mosaic_bits' AS term, mosaic_bits AS amount
    FROM leak_evidence
    UNION ALL
    SELECT exchange_id, source_tenant, 'fact_millibits' AS term, fact_millibits AS amount
    FROM leak_evidence
    UNION ALL
    SELECT exchange_id, source_tenant, 'identifier_bits' AS term, identifier_bits AS amount
    FROM leak_evidence
    UNION ALL
    SELECT exchange_id, source_tenant, 'canary' AS term, CAST(canary AS BIGINT) AS amount
    FROM leak_evidence
    UNION ALL
    SELECT exchange_id, source_tenant, 'swap_steps' AS term, CAST(swap_steps AS BIGINT) AS amount
    FROM leak_evidence
    UNION ALL
    SELECT exchange_id, source_tenant, 'fits_source' AS term, CAST(fits_source AS BIGINT) AS amount
    FROM leak_evidence
    UNION ALL
    SELECT
        exchange_id,
        source_tenant,
        'swap_steps_silent' AS term,
        CAST(swap_steps_silent AS BIGINT) AS amount
    FROM leak_evidence
    UNION ALL
    SELECT exchange_id, source_tenant, 'similarity_permille' AS term, similarity_permille AS amount
    FROM leak_evidence
    UNION ALL
    SELECT exchange_id, source_tenant, 'memory' AS term, CAST(memory AS BIGINT) AS amount
    FROM leak_evidence
    UNION ALL
    SELECT
        exchange_id,
        source_tenant,
        'source_astray' AS term,
        CAST(source_astray AS BIGINT) AS amount
    FROM leak_evidence
),
summed AS (
    -- Points are millionths of a millionth of a nat here, so that the sum is exact.
    SELECT
        t.exchange_id,
        t.source_tenant,
        CAST(SUM(p.millinats * 1000000000 + (t.amount - p.low) * p.piconats) AS BIGINT) AS piconats
    FROM terms AS t
    JOIN score_points AS p ON p.term = t.term AND p.low <= t.amount AND t.amount < p.high
    GROUP BY t.exchange_id, t.source_tenant
)
SELECT
    exchange_id,
    source_tenant,
    CAST(FLOOR(CAST(piconats AS DOUBLE) / 1000000000.0) AS BIGINT) AS points
FROM summed
