//! What happened when: everyday traffic, the leaks, the fix, and look-alikes that are no leaks.

use super::plan::{
    BASE, CallId, DAY, DECODE, FIRST_EXCLUDED, Kind, LIMIT, Leak, MINUTE, POOL, PREFILL, Plan,
    Route, TENANTS, Tenant, WINDOW,
};
use super::rng::{Rng, mix};
use super::words::SYSTEM_PROMPTS;
use super::{Scale, SimulateOptions};
use crate::exchange::TimeMicros;

/// Answers that one stale page gave: seven tenants, two of whom retried three times.
const BLOCK: u32 = 13;
/// Over-limit answers without foreign text.
const OVER_LIMIT: i64 = 12;

/// A time of the fortnight.
fn at(day: i64, hour: i64, minute: i64) -> TimeMicros {
    BASE + day * DAY + (hour * 60 + minute) * MINUTE
}

/// Plans the fortnight.
pub(super) fn plan(options: &SimulateOptions) -> Plan {
    let mut plan = Plan::new(mix(options.seed));
    let mut rng = Rng::new(plan.seed, 0);
    let everyday = everyday(&mut plan, &mut rng, options.scale);
    let block = options.leaks.min(BLOCK);
    repeated_page(&mut plan, &mut rng, block);
    leaks(&mut plan, &mut rng, &everyday, options.leaks - block);
    reproductions(&mut plan, &mut rng, &everyday, options.leaks > 0);
    long_calls(&mut plan, &mut rng);
    refusals(&mut plan, &mut rng);
    repeats(&mut plan, &mut rng);
    quotes(&mut plan, &mut rng);
    public_texts(&mut plan, &mut rng);
    plan.sort();
    plan
}

fn any_tenant(rng: &mut Rng) -> Tenant {
    rng.size(0, TENANTS.len() - 1)
}

fn other_tenant(rng: &mut Rng, than: Tenant) -> Tenant {
    (than + rng.size(1, TENANTS.len() - 1)) % TENANTS.len()
}

/// Everyday calls, evenly spread; returns those on prefill and decode nodes before the outage.
fn everyday(plan: &mut Plan, rng: &mut Rng, scale: Scale) -> Vec<CallId> {
    let (count, elsewhere) = match scale {
        Scale::Small => (330, 110),
        Scale::Full => (6_000, 1_500),
    };
    let mut out = Vec::new();
    spread(rng, count, at(0, 0, 10), at(13, 13, 55), |rng, start| {
        let tenant = any_tenant(rng);
        let id = plan.add(rng, tenant, start);
        if rng.chance(4) {
            plan.calls[id].route = Route::Unified;
        } else {
            out.push(id);
        }
    });
    spread(
        rng,
        count / 40 + 2,
        at(13, 19, 42),
        at(13, 23, 50),
        |rng, start| {
            let tenant = any_tenant(rng);
            plan.add(rng, tenant, start);
        },
    );
    spread(rng, elsewhere, at(0, 0, 5), at(13, 23, 55), |rng, start| {
        let tenant = any_tenant(rng);
        let id = plan.add(rng, tenant, start);
        plan.calls[id].route = Route::GatewayOnly;
        plan.calls[id].half_words /= 2;
    });
    out
}

/// Calls `make` at `count` times, one somewhere in each equal part of the span.
fn spread(
    rng: &mut Rng,
    count: i64,
    from: TimeMicros,
    to: TimeMicros,
    mut make: impl FnMut(&mut Rng, TimeMicros),
) {
    let step = (to - from) / count.max(1);
    for i in 0..count {
        let start = from + i * step + rng.between(0, (step - 2_000_000).max(0));
        make(rng, start);
    }
}

/// A prompt length between the pool limit and the window; shorter ones are more frequent.
fn over_limit(rng: &mut Rng, nth: i64) -> i64 {
    if nth % 20 == 0 {
        return LIMIT + (nth / 20) % (POOL - LIMIT);
    }
    let room = WINDOW - 1 - POOL;
    let part = rng.between(0, 1_000).min(rng.between(0, 1_000));
    (POOL + room * part / 1_000 + rng.between(0, 300)).min(WINDOW - 1)
}

/// How much foreign text comes out, in half-words; 24 is the shortest that counts.
fn span_length(rng: &mut Rng) -> u32 {
    let (low, high) = match rng.below(100) {
        0..15 => (24, 30),
        15..50 => (32, 80),
        50..80 => (82, 240),
        _ => (242, 640),
    };
    rng.size(low, high) as u32
}

/// One page of one tenant that came out again and again.
fn repeated_page(plan: &mut Plan, rng: &mut Rng, count: u32) {
    let owner = any_tenant(rng);
    let source = plan.add(rng, owner, at(7, 8, 40));
    plan.calls[source].half_words = 420;
    let Route::Disaggregated { decode, .. } = plan.calls[source].route else {
        return;
    };
    let mut firsts = Vec::new();
    for nth in 0..count as usize {
        // First the seven tenants, then the retries of the first and of the fourth.
        let (victim, retry) = match nth {
            0..7 => (nth, 0),
            _ => ([0, 3][(nth - 7) % 2], (nth - 7) / 2 + 1),
        };
        let start = at(7, 9, 0) + victim as i64 * 15 * MINUTE + retry as i64 * 4 * MINUTE;
        let tenant = (owner + 1 + victim * 2) % TENANTS.len();
        let leak = Leak {
            source,
            from_response: false,
            half_words: rng.size(60, 260) as u32,
            blend: rng.below(3) as u8,
            repeated: true,
        };
        let tokens = over_limit(rng, nth as i64 + 1);
        let id = plan.add_long(rng, tenant, start, tokens, Kind::Leak(leak));
        if let Route::Disaggregated { decode: node, .. } = &mut plan.calls[id].route {
            *node = decode;
        }
        if retry == 0 {
            firsts.push(id);
        } else if let Some(first) = firsts.get(victim).map(|&f| plan.calls[f]) {
            let call = &mut plan.calls[id];
            (call.prompt_seed, call.tokens) = (first.prompt_seed, first.tokens);
            (call.lang, call.system) = (first.lang, first.system);
        }
    }
    for victim in [0, 3] {
        let Some(&leak) = firsts.get(victim) else {
            continue;
        };
        let first = plan.calls[leak];
        for turn in 0..2 {
            let id = plan.add(rng, first.tenant, first.start + (20 + 6 * turn) * MINUTE);
            plan.calls[id].kind = Kind::SecondHand(leak);
            plan.calls[id].lang = first.lang;
            plan.calls[id].half_words = 60;
        }
    }
}

/// The other leaks: each from some earlier call within a day, mostly on the same decode node.
fn leaks(plan: &mut Plan, rng: &mut Rng, everyday: &[CallId], count: u32) {
    let mut used = vec![false; everyday.len()];
    let mut nth = 0;
    spread(
        rng,
        i64::from(count),
        at(0, 12, 0),
        at(13, 13, 50),
        |rng, start| {
            let source = source_of(plan, rng, everyday, &mut used, start);
            let tenant = other_tenant(rng, plan.calls[source].tenant);
            let tokens = over_limit(rng, nth);
            leak(plan, rng, source, tenant, start, tokens);
            nth += 1;
        },
    );
}

/// An earlier call, one that was not yet a source if there is one.
fn source_of(
    plan: &Plan,
    rng: &mut Rng,
    everyday: &[CallId],
    used: &mut [bool],
    start: TimeMicros,
) -> CallId {
    let from = everyday.partition_point(|&c| plan.calls[c].start < start - 20 * 60 * MINUTE);
    let to = everyday.partition_point(|&c| plan.calls[c].start < start - 5 * MINUTE);
    let fresh: Vec<usize> = (from..to).filter(|&i| !used[i]).collect();
    let picked = if fresh.is_empty() {
        rng.size(from, to.saturating_sub(1).max(from))
    } else {
        rng.pick(&fresh)
    };
    used[picked] = true;
    everyday[picked]
}

fn leak(
    plan: &mut Plan,
    rng: &mut Rng,
    source: CallId,
    tenant: Tenant,
    start: TimeMicros,
    tokens: i64,
) -> CallId {
    let from_response = rng.chance(12);
    let leak = Leak {
        source,
        from_response,
        half_words: span_length(rng),
        blend: rng.below(3) as u8,
        repeated: false,
    };
    let id = plan.add_long(rng, tenant, start, tokens, Kind::Leak(leak));
    let same = rng.chance(85);
    if let (Route::Disaggregated { decode: from, .. }, Route::Disaggregated { decode, .. }) =
        (plan.calls[source].route, &mut plan.calls[id].route)
    {
        *decode = if same {
            from
        } else {
            (from + rng.size(1, DECODE.len() - 1)) % DECODE.len()
        };
    }
    id
}

/// The researchers' and the operator's own attempts; they leak too, unless nothing does.
fn reproductions(plan: &mut Plan, rng: &mut Rng, everyday: &[CallId], leaking: bool) {
    let qa = FIRST_EXCLUDED;
    let researcher = FIRST_EXCLUDED + 2;
    let attempts = [(researcher, at(12, 21, 30), 4), (qa, at(13, 13, 24), 6)];
    for (account, from, count) in attempts {
        for nth in 0..count {
            let start = from + nth * 4 * MINUTE;
            // The planted text is written by one account and comes out at the other.
            let mut source = plan.add(rng, account, start - 11 * MINUTE);
            plan.calls[source].half_words = 260;
            if account == researcher && nth == 3 {
                let before =
                    everyday.partition_point(|&c| plan.calls[c].start < start - 30 * MINUTE);
                source = everyday[before.saturating_sub(1)];
            }
            let tokens = over_limit(rng, nth + 1);
            let id = leak(plan, rng, source, account + 1, start, tokens);
            if !leaking {
                plan.calls[id].kind = Kind::OverLimit;
            }
        }
    }
}

/// Long prompts that show nothing foreign: over the limit, just below it, after the fix.
fn long_calls(plan: &mut Plan, rng: &mut Rng) {
    let mut nth = 0;
    spread(
        rng,
        OVER_LIMIT,
        at(0, 15, 0),
        at(13, 13, 0),
        |rng, start| {
            let tenant = any_tenant(rng);
            let tokens = over_limit(rng, nth + 40);
            plan.add_long(rng, tenant, start, tokens, Kind::OverLimit);
            nth += 7;
        },
    );
    let near = [LIMIT - 1, LIMIT - 2, 640_127, 512_400];
    let mut next = near.iter();
    spread(
        rng,
        near.len() as i64,
        at(1, 3, 0),
        at(12, 20, 0),
        |rng, start| {
            let tenant = any_tenant(rng);
            let tokens = next.next().copied().unwrap_or(LIMIT - 3);
            plan.add_long(rng, tenant, start, tokens, Kind::NearLimit);
        },
    );
    let after = [LIMIT, POOL, 700_112, 811_305, 960_044, 1_020_777];
    let mut next = after.iter();
    spread(
        rng,
        after.len() as i64,
        at(13, 19, 50),
        at(13, 23, 40),
        |rng, start| {
            let tenant = any_tenant(rng);
            let tokens = next.next().copied().unwrap_or(POOL + 1);
            plan.add_long(rng, tenant, start, tokens, Kind::AfterFix);
        },
    );
}

/// Long prompts that were refused as they should be.
fn refusals(plan: &mut Plan, rng: &mut Rng) {
    // The window is checked before any node is asked for memory: no engine sees those.
    let rows = [
        (Route::GatewayOnly, 5, WINDOW, WINDOW + 90_000),
        (Route::Unified, 4, LIMIT, WINDOW - 1),
        (Route::Patched, 3, LIMIT, WINDOW - 1),
    ];
    for (route, count, low, high) in rows {
        spread(rng, count, at(0, 5, 0), at(13, 12, 0), |rng, start| {
            let tenant = any_tenant(rng);
            let tokens = rng.between(low, high);
            let id = plan.add_long(rng, tenant, start, tokens, Kind::Refused);
            plan.calls[id].route = route;
        });
    }
}

/// The same prompt and answer twice: a tenant's retry, and the gateway's cache across tenants.
fn repeats(plan: &mut Plan, rng: &mut Rng) {
    for (cached, count) in [(false, 6), (true, 5)] {
        spread(rng, count, at(0, 18, 0), at(13, 8, 0), |rng, start| {
            let tenant = any_tenant(rng);
            let origin = plan.add(rng, tenant, start);
            plan.calls[origin].half_words = if cached { 40 } else { 200 };
            let (who, wait) = if cached {
                (other_tenant(rng, tenant), rng.between(10, 300))
            } else {
                (tenant, rng.between(2, 4))
            };
            let again = plan.add(rng, who, start + wait * MINUTE);
            let first = plan.calls[origin];
            let call = &mut plan.calls[again];
            (call.lang, call.system) = (first.lang, first.system);
            (call.half_words, call.prompt_seed) = (first.half_words, first.prompt_seed);
            call.kind = Kind::Again(origin, cached);
        });
    }
}

/// Answers that quote a shared system prompt, the own prompt, or the tenant's own earlier call.
fn quotes(plan: &mut Plan, rng: &mut Rng) {
    let mut nth = 0;
    spread(rng, 6, at(2, 2, 0), at(13, 10, 0), |rng, start| {
        let system = nth % SYSTEM_PROMPTS.len();
        let own = nth % 3 != 2;
        let tenant = any_tenant(rng);
        // Others must have used it within the day before, or it would not be shared.
        for k in 1..=5 {
            let other = (tenant + k * 3) % TENANTS.len();
            let id = plan.add(rng, other, start - (30 + 45 * k as i64) * MINUTE);
            plan.calls[id].system = Some(system);
            plan.calls[id].half_words = 100;
        }
        let id = plan.add(rng, tenant, start);
        plan.calls[id].system = own.then_some(system);
        plan.calls[id].kind = Kind::SystemQuote(system);
        nth += 1;
    });
    spread(rng, 6, at(0, 9, 0), at(13, 12, 0), |rng, start| {
        let tenant = any_tenant(rng);
        let id = plan.add(rng, tenant, start);
        plan.calls[id].kind = Kind::OwnQuote;
    });
    spread(rng, 5, at(1, 1, 0), at(13, 9, 0), |rng, start| {
        let tenant = any_tenant(rng);
        let origin = plan.add(rng, tenant, start);
        let lag = rng.between(40, 20 * 60) * MINUTE;
        let id = plan.add(rng, tenant, (start + lag).min(at(13, 13, 50)));
        plan.calls[id].lang = plan.calls[origin].lang;
        plan.calls[id].kind = Kind::Memory(origin);
    });
}

/// A public text that six tenants paste within hours, quoted to a seventh who did not.
fn public_texts(plan: &mut Plan, rng: &mut Rng) {
    let mut text = 0;
    spread(rng, 3, at(3, 4, 0), at(12, 4, 0), |rng, start| {
        let first = any_tenant(rng);
        for k in 0..7 {
            let tenant = (first + k * 2) % TENANTS.len();
            let id = plan.add(rng, tenant, start + k as i64 * 50 * MINUTE);
            let call = &mut plan.calls[id];
            call.half_words = 120;
            call.kind = if k < 6 {
                Kind::PublicPaste(text)
            } else {
                Kind::PublicQuote(text)
            };
            if let Route::Disaggregated { prefill, .. } = &mut call.route {
                *prefill = k % PREFILL.len();
            }
        }
        text += 1;
    });
}
