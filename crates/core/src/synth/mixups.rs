//! Calls with texts whose answers show another conversation's: late writes after an abort, and
//! blocks that an offload tier gave back to the wrong request.

use super::fleet::Fleet;
use super::plan::{BASE, MINUTE, TENANTS};
use super::rng::{Rng, mix};
use super::testimony::{Call, EVERYDAY};

/// So many invented words; different seeds share none to speak of.
fn words(seed: u64, count: usize) -> String {
    let mut rng = Rng::new(seed, 42);
    let syllables = [
        "ba", "ko", "mi", "ru", "te", "za", "vo", "ne", "li", "pu", "sha", "dor",
    ];
    let mut out = String::new();
    for n in 0..count {
        if n > 0 {
            out.push(' ');
        }
        for _ in 0..5 {
            out.push_str(rng.pick(&syllables));
        }
    }
    out
}

fn call(rng: &mut Rng, start: i64, tenant: usize) -> Call {
    let seed = rng.next();
    Call {
        start,
        tokens: rng.between(300, 900),
        cached: 0,
        completion: rng.between(60, 200),
        tenant,
        stub: false,
        fleet: Fleet::Exposed,
        seed,
        text: Some((words(seed, 70), words(mix(seed), 40))),
        broken_off: None,
        shows: None,
    }
}

const WEEK: i64 = 7 * 24 * 60 * MINUTE;

fn any(rng: &mut Rng) -> usize {
    rng.size(0, TENANTS.len() - 1)
}

fn everyday(rng: &mut Rng) -> Vec<Call> {
    let mut out = Vec::new();
    for n in 0..EVERYDAY {
        let start = BASE + 10 * MINUTE + n * (WEEK / EVERYDAY) + rng.between(0, 10 * MINUTE);
        let tenant = any(rng);
        out.push(call(rng, start, tenant));
    }
    out
}

/// Calls of ordinary length with their texts; of some, a part comes out at a bystander.
pub(super) fn late_writes(rng: &mut Rng, leaks: i64) -> Vec<Call> {
    let mut out = everyday(rng);
    for n in 0..leaks {
        let start = BASE + 20 * MINUTE + n * (WEEK / leaks.max(1)) + rng.between(0, MINUTE);
        let owner = any(rng);
        let mut lost = call(rng, start, owner);
        let after = rng.between(300_000, 2_000_000);
        lost.broken_off = Some(after);
        let bystander = (owner + rng.size(1, TENANTS.len() - 1)) % TENANTS.len();
        let wait = after + rng.between(1_000_000, 50_000_000);
        let mut victim = call(rng, start + wait, bystander);
        victim.shows = Some((lost.seed, owner));
        if let (Some((owned, _)), Some((_, answer))) = (&lost.text, &mut victim.text) {
            let foreign: Vec<&str> = owned.split(' ').skip(20).take(30).collect();
            *answer = format!("{answer} {}", foreign.join(" "));
        }
        out.push(lost);
        out.push(victim);
    }
    out
}

/// Calls whose prefix an offload tier loads back; some get the blocks of another conversation, and
/// the answer goes on in it. The counts look like a full hit.
pub(super) fn offload(rng: &mut Rng, leaks: i64) -> Vec<Call> {
    let mut out = everyday(rng);
    for n in 0..leaks {
        let start = BASE + 30 * MINUTE + n * (WEEK / leaks.max(1)) + rng.between(0, MINUTE);
        let owner = any(rng);
        let stored = call(rng, start, owner);
        let receiver = (owner + rng.size(1, TENANTS.len() - 1)) % TENANTS.len();
        let wait = rng.between(2 * MINUTE, 20 * MINUTE);
        let mut victim = call(rng, start + wait, receiver);
        victim.cached = victim.tokens - 1;
        victim.shows = Some((stored.seed, owner));
        if let (Some((_, given)), Some((_, answer))) = (&stored.text, &mut victim.text) {
            let foreign: Vec<&str> = given.split(' ').take(32).collect();
            *answer = format!("{} {}", foreign.join(" "), words(mix(victim.seed ^ 1), 6));
        }
        out.push(stored);
        out.push(victim);
    }
    out
}
