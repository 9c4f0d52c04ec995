//! Pickles as Python writes them, and as nobody should.

use super::*;
use proptest::prelude::*;

/// `pickle.dumps(x, protocol)` of some values, in hexadecimal, and those as JSON.
const SAMPLES: &[(&str, &str)] = &[
    // protocol 2
    ("80024e2e", "null"),
    // protocol 4
    ("80044e2e", "null"),
    // protocol 5
    ("80054e2e", "null"),
    // protocol 2
    (
        "80025d71002888894b014bff4a000001004afdffffff8a060000000000018a060000000000ff8a09000000000000008000473ff8000000000000652e",
        "[true,false,1,255,65536,-3,1099511627776,-1099511627776,9223372036854775808,1.5]",
    ),
    // protocol 4
    (
        "80049539000000000000005d942888894b014bff4a000001004afdffffff8a060000000000018a060000000000ff8a09000000000000008000473ff8000000000000652e",
        "[true,false,1,255,65536,-3,1099511627776,-1099511627776,9223372036854775808,1.5]",
    ),
    // protocol 5
    (
        "80059539000000000000005d942888894b014bff4a000001004afdffffff8a060000000000018a060000000000ff8a09000000000000008000473ff8000000000000652e",
        "[true,false,1,255,65536,-3,1099511627776,-1099511627776,9223372036854775808,1.5]",
    ),
    // protocol 2
    (
        "80027d71002858010000006171015806000000c3a9f09f9880710258010000006271034b014b024b0385710487710558010000006371065d710758010000006471087d7109752e",
        "{\"a\":\"é😀\",\"b\":[1,2,[3]],\"c\":[],\"d\":{}}",
    ),
    // protocol 4
    (
        "8004952c000000000000007d94288c0161948c06c3a9f09f9880948c0162944b014b024b03859487948c0163945d948c0164947d94752e",
        "{\"a\":\"é😀\",\"b\":[1,2,[3]],\"c\":[],\"d\":{}}",
    ),
    // protocol 5
    (
        "8005952c000000000000007d94288c0161948c06c3a9f09f9880948c0162944b014b024b03859487948c0163945d948c0164947d94752e",
        "{\"a\":\"é😀\",\"b\":[1,2,[3]],\"c\":[],\"d\":{}}",
    ),
    // protocol 2
    (
        "80025d7100285d71015801000000737102616801652e",
        "[[\"s\"],[\"s\"]]",
    ),
    // protocol 4
    (
        "8004950e000000000000005d94285d948c017394616801652e",
        "[[\"s\"],[\"s\"]]",
    ),
    // protocol 5
    (
        "8005950e000000000000005d94285d948c017394616801652e",
        "[[\"s\"],[\"s\"]]",
    ),
    // protocol 2
    (
        "800263636f6c6c656374696f6e730a4f726465726564446963740a71002952710158010000006b71024b01732e",
        "{\"k\":1}",
    ),
    // protocol 4
    (
        "80049529000000000000008c0b636f6c6c656374696f6e73948c0b4f726465726564446963749493942952948c016b944b01732e",
        "{\"k\":1}",
    ),
    // protocol 5
    (
        "80059529000000000000008c0b636f6c6c656374696f6e73948c0b4f726465726564446963749493942952948c016b944b01732e",
        "{\"k\":1}",
    ),
    // protocol 2
    (
        "800263636f6c6c656374696f6e730a64656661756c74646963740a7100635f5f6275696c74696e5f5f0a6c6973740a710185710252710358010000006b71045d71054b0161732e",
        "{\"k\":[1]}",
    ),
    // protocol 4
    (
        "80049541000000000000008c0b636f6c6c656374696f6e73948c0b64656661756c74646963749493948c086275696c74696e73948c046c697374949394859452948c016b945d944b0161732e",
        "{\"k\":[1]}",
    ),
    // protocol 5
    (
        "80059541000000000000008c0b636f6c6c656374696f6e73948c0b64656661756c74646963749493948c086275696c74696e73948c046c697374949394859452948c016b945d944b0161732e",
        "{\"k\":[1]}",
    ),
    // protocol 2
    (
        "80026373670a5265710a7100298171017d7102285803000000726964710358010000007271045804000000746578747105580100000074710658070000006e6f5f6c6f677371078875622e",
        "{\"rid\":\"r\",\"text\":\"t\",\"no_logs\":true}",
    ),
    // protocol 4
    (
        "80049536000000000000008c027367948c035265719493942981947d94288c03726964948c0172948c0474657874948c0174948c076e6f5f6c6f6773948875622e",
        "{\"rid\":\"r\",\"text\":\"t\",\"no_logs\":true}",
    ),
    // protocol 5
    (
        "80059536000000000000008c027367948c035265719493942981947d94288c03726964948c0172948c0474657874948c0174948c076e6f5f6c6f6773948875622e",
        "{\"rid\":\"r\",\"text\":\"t\",\"no_logs\":true}",
    ),
    // protocol 2
    (
        "80025d71006373670a4d6f64650a71014b00857102527103612e",
        "[0]",
    ),
    // protocol 4
    (
        "80049518000000000000005d948c027367948c044d6f64659493944b0085945294612e",
        "[0]",
    ),
    // protocol 5
    (
        "80059518000000000000005d948c027367948c044d6f64659493944b0085945294612e",
        "[0]",
    ),
    // protocol 2
    (
        "80027d71008a08eb055301af030e478a08eb055301af030e47732e",
        "{\"5120033876543210987\":5120033876543210987}",
    ),
    // protocol 4
    (
        "80049518000000000000007d948a08eb055301af030e478a08eb055301af030e47732e",
        "{\"5120033876543210987\":5120033876543210987}",
    ),
    // protocol 5
    (
        "80059518000000000000007d948a08eb055301af030e478a08eb055301af030e47732e",
        "{\"5120033876543210987\":5120033876543210987}",
    ),
    // protocol 2
    (
        "8002635f5f6275696c74696e5f5f0a7365740a71005d71014b01618571025271032e",
        "[1]",
    ),
    // protocol 4
    ("80049507000000000000008f94284b01902e", "[1]"),
    // protocol 5
    ("80059507000000000000008f94284b01902e", "[1]"),
    // protocol 2
    (
        "8002635f5f6275696c74696e5f5f0a66726f7a656e7365740a71005d71015801000000717102618571035271042e",
        "[\"q\"]",
    ),
    // protocol 4
    ("8004950800000000000000288c01719491942e", "[\"q\"]"),
    // protocol 5
    ("8005950800000000000000288c01719491942e", "[\"q\"]"),
];

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
    (0..hex.len()).step_by(2).map(digit).collect()
}

#[test]
fn values_come_back() {
    for (hex, expected) in SAMPLES {
        let bytes = bytes(hex);
        let found = read(&bytes).map(|json| json.to_text());
        assert_eq!(found.as_deref(), Ok(*expected), "{hex}");
    }
}

#[test]
fn nothing_is_called() {
    // os.system("touch x"), by GLOBAL and REDUCE.
    let text = b"\x80\x02cos\nsystem\nX\x07\x00\x00\x00touch x\x85R.";
    // What would have been called is dropped; a text handed to it stays a text.
    assert_eq!(
        read(text).map(|j| j.to_text()),
        Ok("\"touch x\"".to_owned())
    );
}

#[test]
fn hostile_programs_end() {
    // Each list holds the one before twice: 2^60 values.
    let mut doubling = b"\x80\x04]".to_vec();
    for _ in 0..60 {
        doubling.extend(b"2\x86");
    }
    doubling.push(b'.');
    assert_eq!(read(&doubling).err(), Some(PickleError::Deep));
    // A list that holds itself.
    let itself = b"\x80\x04]\x94h\x00a.";
    assert_eq!(read(itself).err(), Some(PickleError::Deep));
    let deep = [b"\x80\x04".as_slice(), &b"(".repeat(200), b".".as_slice()].concat();
    assert!(read(&deep).is_err());
    // Each byte a list, each list in its place.
    let lists = [
        b"\x80\x04".as_slice(),
        &b"]".repeat(100_000),
        b".".as_slice(),
    ]
    .concat();
    assert_eq!(read(&lists).err(), Some(PickleError::Deep));
    for (broken, error) in [
        (&b"\x80\x04"[..], PickleError::Cut),
        (b"\x80\x04X\xff\xff\xff\xff", PickleError::Cut),
        (b"\x80\x04.", PickleError::Broken(2)),
        (b"\x80\x04\xff.", PickleError::Broken(2)),
        (b"\x80\x04h\x05.", PickleError::Broken(3)),
        (b"\x80\x04Nr\xff\xff\xff\x7f.", PickleError::Broken(7)),
    ] {
        assert_eq!(read(broken).err(), Some(error), "{broken:?}");
    }
}

proptest! {
    #[test]
    fn soup_never_panics(
        ops in prop::collection::vec(
            prop_oneof![
                prop::sample::select(vec![
                    vec![b'('], vec![b')'], vec![b']'], vec![b'}'], vec![b'N'], vec![b'K', 7],
                    vec![b't'], vec![b'e'], vec![b'u'], vec![b's'], vec![b'a'], vec![0x94],
                    vec![b'h', 0], vec![b'h', 1], vec![b'R'], vec![0x81], vec![b'b'], vec![b'0'],
                    vec![b'1'], vec![b'2'], vec![0x85], vec![0x86], vec![0x87], vec![0x93],
                    vec![0x8c, 1, b'x'], vec![b'o'], vec![b'.'],
                ]),
                prop::collection::vec(any::<u8>(), 1..4),
            ],
            0..40,
        )
    ) {
        let mut program = vec![0x80, 4];
        program.extend(ops.concat());
        program.push(b'.');
        drop(read(&program));
    }
}
