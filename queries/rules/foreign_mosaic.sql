-- id: foreign_mosaic
-- title: short pieces of one foreign text stand in a response in the same order
-- severity: high
-- disclosure: likely
-- needs: foreign_mosaics, foreign_spans
-- version: 1
-- why: dropping or changing every tenth word breaks long spans and leaves the order of the rest; a
--      whole span of the same tenant says it better
WITH ranked AS (
    SELECT
        m.*,
        ROW_NUMBER() OVER (
            PARTITION BY m.exchange_id, m.source_tenant
            ORDER BY
                m.chain_bits DESC,
                m.lag_ms DESC NULLS LAST,
                m.source_exchange_id,
                m.field,
                m.response_start,
                m.source_start
        ) AS chain_rank
    FROM foreign_mosaics AS m
    WHERE NOT EXISTS (
        SELECT 1
        FROM foreign_spans AS f
        WHERE f.exchange_id = m.exchange_id AND f.source_tenant = m.source_tenant
    )
)
SELECT
    exchange_id,
    source_exchange_id,
    source_tenant,
    field,
    response_start,
    response_end,
    source_side,
    source_field,
    source_start,
    source_end,
    chain_tokens,
    chain_bits,
    prompt_similarity_permille,
    lag_ms,
    time_order AS "order",
    same_share_group,
    turnovers,
    exposed
FROM ranked
WHERE chain_rank = 1
ORDER BY exchange_id, source_tenant
