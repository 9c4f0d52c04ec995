-- id: score_points
-- title: what each term of the evidence weighs, piecewise linear
-- needs: -
-- version: 1
-- why: written by `bench/fit_score.py own1 own2 --write`
--      over 652 planted leaks among 13046 responses, not by hand. An amount from low to
--      below high gives millinats + (amount - low) * piconats / 1e9 thousandths of a nat. prior:
--      any answer; nothing: one without evidence; cut: the sum from which foreign text counts
--      outside a known exposure (0.001 of the answers without leak reach it there)
SELECT
    'base' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(1 AS BIGINT) AS high,
    CAST(-6829 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'prior' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(1 AS BIGINT) AS high,
    CAST(-6907 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'nothing' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(1 AS BIGINT) AS high,
    CAST(-9939 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'cut' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(1 AS BIGINT) AS high,
    CAST(-4126 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'exposure_likely' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(1 AS BIGINT) AS high,
    CAST(5500 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'exposure_proven' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(1 AS BIGINT) AS high,
    CAST(6900 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(20000000 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term,
    CAST(20000000 AS BIGINT) AS low,
    CAST(40000000 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term,
    CAST(40000000 AS BIGINT) AS low,
    CAST(60000000 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term,
    CAST(60000000 AS BIGINT) AS low,
    CAST(90000000 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(47733 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term,
    CAST(90000000 AS BIGINT) AS low,
    CAST(140000000 AS BIGINT) AS high,
    CAST(1432 AS BIGINT) AS millinats,
    CAST(18740 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term,
    CAST(140000000 AS BIGINT) AS low,
    CAST(250000000 AS BIGINT) AS high,
    CAST(2369 AS BIGINT) AS millinats,
    CAST(1664 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term,
    CAST(250000000 AS BIGINT) AS low,
    CAST(600000000 AS BIGINT) AS high,
    CAST(2552 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'span_microbits' AS term,
    CAST(600000000 AS BIGINT) AS low,
    CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(2552 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'word_microbits' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(2500000 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'word_microbits' AS term,
    CAST(2500000 AS BIGINT) AS low,
    CAST(4000000 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(1200000 AS BIGINT) AS piconats
UNION ALL SELECT
    'word_microbits' AS term,
    CAST(4000000 AS BIGINT) AS low,
    CAST(5500000 AS BIGINT) AS high,
    CAST(1800 AS BIGINT) AS millinats,
    CAST(204000 AS BIGINT) AS piconats
UNION ALL SELECT
    'word_microbits' AS term,
    CAST(5500000 AS BIGINT) AS low,
    CAST(7500000 AS BIGINT) AS high,
    CAST(2106 AS BIGINT) AS millinats,
    CAST(56500 AS BIGINT) AS piconats
UNION ALL SELECT
    'word_microbits' AS term,
    CAST(7500000 AS BIGINT) AS low,
    CAST(10000000 AS BIGINT) AS high,
    CAST(2219 AS BIGINT) AS millinats,
    CAST(68400 AS BIGINT) AS piconats
UNION ALL SELECT
    'word_microbits' AS term,
    CAST(10000000 AS BIGINT) AS low,
    CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(2390 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'mosaic_bits' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(25 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'mosaic_bits' AS term,
    CAST(25 AS BIGINT) AS low,
    CAST(50 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'mosaic_bits' AS term,
    CAST(50 AS BIGINT) AS low,
    CAST(100 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(4400000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'mosaic_bits' AS term,
    CAST(100 AS BIGINT) AS low,
    CAST(200 AS BIGINT) AS high,
    CAST(220 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'mosaic_bits' AS term,
    CAST(200 AS BIGINT) AS low,
    CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(220 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'fact_millibits' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(10000 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(44200000 AS BIGINT) AS piconats
UNION ALL SELECT
    'fact_millibits' AS term,
    CAST(10000 AS BIGINT) AS low,
    CAST(30000 AS BIGINT) AS high,
    CAST(442 AS BIGINT) AS millinats,
    CAST(22100000 AS BIGINT) AS piconats
UNION ALL SELECT
    'fact_millibits' AS term,
    CAST(30000 AS BIGINT) AS low,
    CAST(60000 AS BIGINT) AS high,
    CAST(884 AS BIGINT) AS millinats,
    CAST(36666667 AS BIGINT) AS piconats
UNION ALL SELECT
    'fact_millibits' AS term,
    CAST(60000 AS BIGINT) AS low,
    CAST(100000 AS BIGINT) AS high,
    CAST(1984 AS BIGINT) AS millinats,
    CAST(64900000 AS BIGINT) AS piconats
UNION ALL SELECT
    'fact_millibits' AS term,
    CAST(100000 AS BIGINT) AS low,
    CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(4580 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'identifier_bits' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(20 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(115900000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'identifier_bits' AS term,
    CAST(20 AS BIGINT) AS low,
    CAST(40 AS BIGINT) AS high,
    CAST(2318 AS BIGINT) AS millinats,
    CAST(96550000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'identifier_bits' AS term,
    CAST(40 AS BIGINT) AS low,
    CAST(80 AS BIGINT) AS high,
    CAST(4249 AS BIGINT) AS millinats,
    CAST(60075000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'identifier_bits' AS term,
    CAST(80 AS BIGINT) AS low,
    CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(6652 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'canary' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(1 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(12000000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'canary' AS term,
    CAST(1 AS BIGINT) AS low,
    CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(12000 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(1 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(714000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps' AS term,
    CAST(1 AS BIGINT) AS low,
    CAST(2 AS BIGINT) AS high,
    CAST(714 AS BIGINT) AS millinats,
    CAST(163000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps' AS term,
    CAST(2 AS BIGINT) AS low,
    CAST(3 AS BIGINT) AS high,
    CAST(877 AS BIGINT) AS millinats,
    CAST(318000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps' AS term,
    CAST(3 AS BIGINT) AS low,
    CAST(4 AS BIGINT) AS high,
    CAST(1195 AS BIGINT) AS millinats,
    CAST(555000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps' AS term,
    CAST(4 AS BIGINT) AS low,
    CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(1750 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps_silent' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(1 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(497000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps_silent' AS term,
    CAST(1 AS BIGINT) AS low,
    CAST(2 AS BIGINT) AS high,
    CAST(497 AS BIGINT) AS millinats,
    CAST(407000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps_silent' AS term,
    CAST(2 AS BIGINT) AS low,
    CAST(3 AS BIGINT) AS high,
    CAST(904 AS BIGINT) AS millinats,
    CAST(180000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps_silent' AS term,
    CAST(3 AS BIGINT) AS low,
    CAST(4 AS BIGINT) AS high,
    CAST(1084 AS BIGINT) AS millinats,
    CAST(555000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'swap_steps_silent' AS term,
    CAST(4 AS BIGINT) AS low,
    CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(1639 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'fits_source' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(1 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(82000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'fits_source' AS term,
    CAST(1 AS BIGINT) AS low,
    CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(82 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'similarity_permille' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(100 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'similarity_permille' AS term,
    CAST(100 AS BIGINT) AS low,
    CAST(300 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(-6870000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'similarity_permille' AS term,
    CAST(300 AS BIGINT) AS low,
    CAST(500 AS BIGINT) AS high,
    CAST(-1374 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'similarity_permille' AS term,
    CAST(500 AS BIGINT) AS low,
    CAST(1000 AS BIGINT) AS high,
    CAST(-1374 AS BIGINT) AS millinats,
    CAST(-7988000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'similarity_permille' AS term,
    CAST(1000 AS BIGINT) AS low,
    CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(-5368 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'memory' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(2 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(631500000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'memory' AS term,
    CAST(2 AS BIGINT) AS low,
    CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(1263 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
UNION ALL SELECT
    'source_astray' AS term,
    CAST(0 AS BIGINT) AS low,
    CAST(1 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS millinats,
    CAST(-947000000000 AS BIGINT) AS piconats
UNION ALL SELECT
    'source_astray' AS term,
    CAST(1 AS BIGINT) AS low,
    CAST(4611686018427387904 AS BIGINT) AS high,
    CAST(-947 AS BIGINT) AS millinats,
    CAST(0 AS BIGINT) AS piconats
