-- id: impossible_first_token
-- title: the first token came sooner than the prompt can have been computed
-- severity: medium
-- exposure: column
-- needs: first_tokens, first_token_bounds
-- version: 1
-- why: (prompt - cached) tokens in the time to the first token, beyond four times what the
--      deployment has shown on healthy traffic, means that the prompt was not computed; where the
--      log does not say what was cached it is a lead only
SELECT
    f.exchange_id,
    CASE WHEN f.cached_tokens IS NULL THEN 'unknown' ELSE 'likely' END AS exposure,
    f.fresh_tokens,
    f.cached_tokens,
    f.first_token_ms,
    f.rate AS tokens_per_second,
    b.bound_rate AS bound_tokens_per_second,
    b.seen_rate AS seen_tokens_per_second,
    b.percentile,
    b.samples,
    b.longest_sample_tokens
FROM first_tokens AS f
JOIN first_token_bounds AS b ON b.model = f.model AND b.deployment = f.deployment
-- Fewer say nothing of what a node can do.
WHERE b.samples >= 30 AND f.rate > b.bound_rate AND f.fresh_tokens >= 4096
ORDER BY f.exchange_id
