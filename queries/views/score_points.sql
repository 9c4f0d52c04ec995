-- id: score_points
-- title: what each term of the evidence weighs, piecewise linear
-- needs:
-- version: 1
-- why: written by `bench/fit_score.py ev1 --write`
--      over 328 planted leaks among 19158 responses; do not edit by hand. A term's amount
--      from low to below high gives millinats + (amount - low) * piconats / 1e9 thousandths of a nat.
--      prior: any answer; nothing: one without evidence; cut: the sum from which foreign text counts
--      outside a known exposure (0.0005 of the answers without leak reach it in those sets)
SELECT
    'base' AS term, CAST(0 AS BIGINT) AS low, CAST(1 AS BIGINT) AS high,
    CAST(-6663 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'prior' AS term, CAST(0 AS BIGINT) AS low, CAST(1 AS BIGINT) AS high,
    CAST(-6907 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'nothing' AS term, CAST(0 AS BIGINT) AS low, CAST(1 AS BIGINT) AS high,
    CAST(-10386 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'cut' AS term, CAST(0 AS BIGINT) AS low, CAST(1 AS BIGINT) AS high,
    CAST(-3127 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'exposure_likely' AS term, CAST(0 AS BIGINT) AS low, CAST(1 AS BIGINT) AS high,
    CAST(5500 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'exposure_proven' AS term, CAST(0 AS BIGINT) AS low, CAST(1 AS BIGINT) AS high,
    CAST(6900 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term, CAST(0 AS BIGINT) AS low, CAST(20000000 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats, CAST(21150 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term, CAST(20000000 AS BIGINT) AS low, CAST(40000000 AS BIGINT) AS high,
    CAST(423 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term, CAST(40000000 AS BIGINT) AS low, CAST(60000000 AS BIGINT) AS high,
    CAST(423 AS BIGINT) AS millinats, CAST(19850 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term, CAST(60000000 AS BIGINT) AS low, CAST(90000000 AS BIGINT) AS high,
    CAST(820 AS BIGINT) AS millinats, CAST(26800 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term, CAST(90000000 AS BIGINT) AS low, CAST(140000000 AS BIGINT) AS high,
    CAST(1624 AS BIGINT) AS millinats, CAST(9660 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term, CAST(140000000 AS BIGINT) AS low, CAST(250000000 AS BIGINT) AS high,
    CAST(2107 AS BIGINT) AS millinats, CAST(4000 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term, CAST(250000000 AS BIGINT) AS low, CAST(600000000 AS BIGINT) AS high,
    CAST(2547 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term, CAST(600000000 AS BIGINT) AS low, CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(2547 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'word_microbits' AS term, CAST(0 AS BIGINT) AS low, CAST(2500000 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats, CAST(175600 AS BIGINT) AS piconats
UNION ALL SELECT
    'word_microbits' AS term, CAST(2500000 AS BIGINT) AS low, CAST(4000000 AS BIGINT) AS high,
    CAST(439 AS BIGINT) AS millinats, CAST(663333 AS BIGINT) AS piconats
UNION ALL SELECT
    'word_microbits' AS term, CAST(4000000 AS BIGINT) AS low, CAST(5500000 AS BIGINT) AS high,
    CAST(1434 AS BIGINT) AS millinats, CAST(377333 AS BIGINT) AS piconats
UNION ALL SELECT
    'word_microbits' AS term, CAST(5500000 AS BIGINT) AS low, CAST(7500000 AS BIGINT) AS high,
    CAST(2000 AS BIGINT) AS millinats, CAST(646500 AS BIGINT) AS piconats
UNION ALL SELECT
    'word_microbits' AS term, CAST(7500000 AS BIGINT) AS low, CAST(10000000 AS BIGINT) AS high,
    CAST(3293 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'word_microbits' AS term, CAST(10000000 AS BIGINT) AS low, CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(3293 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'mosaic_bits' AS term, CAST(0 AS BIGINT) AS low, CAST(25 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats, CAST(3840000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'mosaic_bits' AS term, CAST(25 AS BIGINT) AS low, CAST(50 AS BIGINT) AS high,
    CAST(96 AS BIGINT) AS millinats, CAST(3840000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'mosaic_bits' AS term, CAST(50 AS BIGINT) AS low, CAST(100 AS BIGINT) AS high,
    CAST(192 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'mosaic_bits' AS term, CAST(100 AS BIGINT) AS low, CAST(200 AS BIGINT) AS high,
    CAST(192 AS BIGINT) AS millinats, CAST(2920000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'mosaic_bits' AS term, CAST(200 AS BIGINT) AS low, CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(484 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'fact_millibits' AS term, CAST(0 AS BIGINT) AS low, CAST(10000 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats, CAST(7300000 AS BIGINT) AS piconats
UNION ALL SELECT
    'fact_millibits' AS term, CAST(10000 AS BIGINT) AS low, CAST(30000 AS BIGINT) AS high,
    CAST(73 AS BIGINT) AS millinats, CAST(3650000 AS BIGINT) AS piconats
UNION ALL SELECT
    'fact_millibits' AS term, CAST(30000 AS BIGINT) AS low, CAST(60000 AS BIGINT) AS high,
    CAST(146 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'fact_millibits' AS term, CAST(60000 AS BIGINT) AS low, CAST(100000 AS BIGINT) AS high,
    CAST(146 AS BIGINT) AS millinats, CAST(2775000 AS BIGINT) AS piconats
UNION ALL SELECT
    'fact_millibits' AS term, CAST(100000 AS BIGINT) AS low, CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(257 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'identifier_bits' AS term, CAST(0 AS BIGINT) AS low, CAST(20 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats, CAST(144900000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'identifier_bits' AS term, CAST(20 AS BIGINT) AS low, CAST(40 AS BIGINT) AS high,
    CAST(2898 AS BIGINT) AS millinats, CAST(144600000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'identifier_bits' AS term, CAST(40 AS BIGINT) AS low, CAST(80 AS BIGINT) AS high,
    CAST(5790 AS BIGINT) AS millinats, CAST(79950000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'identifier_bits' AS term, CAST(80 AS BIGINT) AS low, CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(8988 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'canary' AS term, CAST(0 AS BIGINT) AS low, CAST(1 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats, CAST(12000000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'canary' AS term, CAST(1 AS BIGINT) AS low, CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(12000 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps' AS term, CAST(0 AS BIGINT) AS low, CAST(1 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps' AS term, CAST(1 AS BIGINT) AS low, CAST(2 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats, CAST(1444000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps' AS term, CAST(2 AS BIGINT) AS low, CAST(3 AS BIGINT) AS high,
    CAST(1444 AS BIGINT) AS millinats, CAST(521000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps' AS term, CAST(3 AS BIGINT) AS low, CAST(4 AS BIGINT) AS high,
    CAST(1965 AS BIGINT) AS millinats, CAST(49000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps' AS term, CAST(4 AS BIGINT) AS low, CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(2014 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'fits_source' AS term, CAST(0 AS BIGINT) AS low, CAST(1 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats, CAST(468000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'fits_source' AS term, CAST(1 AS BIGINT) AS low, CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(468 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'own_prompt_silent' AS term, CAST(0 AS BIGINT) AS low, CAST(1 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'own_prompt_silent' AS term, CAST(1 AS BIGINT) AS low, CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'similarity_permille' AS term, CAST(0 AS BIGINT) AS low, CAST(100 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats, CAST(-4440000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'similarity_permille' AS term, CAST(100 AS BIGINT) AS low, CAST(300 AS BIGINT) AS high,
    CAST(-444 AS BIGINT) AS millinats, CAST(-8285000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'similarity_permille' AS term, CAST(300 AS BIGINT) AS low, CAST(600 AS BIGINT) AS high,
    CAST(-2101 AS BIGINT) AS millinats, CAST(-8970000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'similarity_permille' AS term, CAST(600 AS BIGINT) AS low, CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(-4792 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'memory' AS term, CAST(0 AS BIGINT) AS low, CAST(2 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats, CAST(796500000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'memory' AS term, CAST(2 AS BIGINT) AS low, CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(1593 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'source_astray' AS term, CAST(0 AS BIGINT) AS low, CAST(1 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats, CAST(-2757000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'source_astray' AS term, CAST(1 AS BIGINT) AS low, CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(-2757 AS BIGINT) AS millinats, CAST(0 AS BIGINT) AS piconats
