//! Pickles that Python wrote, in every protocol. `scripts/make-pickle-fixtures` made them.

use std::error::Error;

use toller_pickle::numpy::{Array, Content, Scalar};
use toller_pickle::{Pairs, Pickle, PickleError, Value};

type Outcome = Result<(), Box<dyn Error>>;

fn fixture(name: &str) -> std::io::Result<Vec<u8>> {
    std::fs::read(toller_testing::repository("crates/pickle/tests/fixtures").join(name))
}

fn entry<'p, 'a>(pairs: Pairs<'p, 'a>, key: &str) -> Result<Value<'p, 'a>, String> {
    pairs.get(key).ok_or_else(|| format!("no {key}"))
}

/// The items of a list, each read by `read`.
fn list<'p, 'a, T>(value: Value<'p, 'a>, read: impl Fn(Value<'p, 'a>) -> Option<T>) -> Option<Vec<T>> {
    value.as_list()?.iter().map(read).collect()
}

#[test]
fn plain_values_in_every_protocol() -> Outcome {
    for protocol in 0..=5 {
        let bytes = fixture(&format!("plain-{protocol}.pkl"))?;
        let pickle = Pickle::load(&bytes)?;
        assert_eq!(pickle.end(), bytes.len());
        let root = pickle.root().as_dict().ok_or("not a dict")?;
        assert_eq!(root.len(), 12);
        let entry = |key| entry(root, key);

        assert!(entry("none")?.is_none());
        assert_eq!(list(entry("bools")?, Value::as_bool), Some(vec![true, false]));
        let (min, max) = (i128::from(i64::MIN), i128::from(i64::MAX));
        let ints =
            [0, 1, -1, 255, 256, 65535, 65536, -(1 << 31), 1 << 31, max, min, max + 1, i128::MIN, i128::MAX];
        assert_eq!(list(entry("ints")?, Value::as_int).as_deref(), Some(&ints[..]));
        let floats = list(entry("floats")?, |value| Some(value.describe()));
        let expected = [0.0, -0.5, 1e300, f64::INFINITY].map(|float| format!("the float {float}"));
        assert_eq!(floats.as_deref(), Some(&expected[..]));
        let strs = list(entry("strs")?, Value::as_str).ok_or("not strings")?;
        let long = "x".repeat(300);
        assert_eq!(strs, ["", "plain", "it's\n\\ \"é\" 🐕", long.as_str()]);
        let bytes = list(entry("bytes")?, Value::as_bytes).ok_or("not bytes")?;
        let every_byte: Vec<u8> = (0..=255).collect();
        assert_eq!(bytes, [&b""[..], b"plain", &every_byte, &[0xff; 300]]);
        let tuples =
            list(entry("tuples")?, |value| Some(value.as_tuple()?.iter().filter_map(Value::as_int).sum()));
        assert_eq!(tuples, Some(vec![0, 1, 3, 6, 10]));
        assert_eq!(list(entry("long")?, Value::as_int), Some((0..2500).collect()));
        let nested = entry("nested")?.as_list().and_then(|nested| nested.get(1));
        let nested = nested.and_then(|value| value.as_dict()?.get("a")?.as_dict()?.get("b"));
        assert!(nested.and_then(Value::as_tuple).is_some_and(|tuple| tuple.is_empty()));

        // Older protocols write these as calls.
        let called = |key, name| -> Result<bool, String> {
            let callable = entry(key)?.as_object().and_then(|object| object.callable().as_global());
            Ok(callable.is_some_and(|(_, found)| found == name))
        };
        if protocol >= 4 {
            assert_eq!(entry("set")?.as_set().and_then(|set| set.get(0)?.as_int()), Some(7));
            assert_eq!(entry("frozenset")?.as_set().and_then(|set| set.get(0)?.as_int()), Some(8));
        } else {
            assert!(called("set", "set")? && called("frozenset", "frozenset")?);
        }
        if protocol == 5 {
            assert_eq!(entry("bytearray")?.as_bytes().as_deref(), Some(&b"ab\xfe"[..]));
        } else {
            assert!(called("bytearray", "bytearray")?);
        }
    }
    Ok(())
}

#[test]
fn arrays_and_scalars_in_every_protocol() -> Outcome {
    for protocol in 0..=5 {
        let bytes = fixture(&format!("arrays-{protocol}.pkl"))?;
        let pickle = Pickle::load(&bytes)?;
        let root = pickle.root().as_dict().ok_or("not a dict")?;
        let entry = |key| entry(root, key);
        let array = |key| -> Result<Array<'_, '_>, Box<dyn Error>> { Ok(Array::read(entry(key)?)?) };
        let raw = |key| -> Result<Vec<u8>, Box<dyn Error>> {
            match array(key)?.content {
                Content::Bytes(bytes) => Ok(bytes.into_owned()),
                Content::Objects(_) => Err("objects".into()),
            }
        };

        let f4 = array("f4")?;
        assert_eq!(
            (f4.dtype.to_string().as_str(), &f4.shape[..], f4.fortran_order),
            ("<f4", &[2, 3][..], false)
        );
        let numbers: Vec<u8> = (0..6_u8).flat_map(|number| f32::from(number).to_le_bytes()).collect();
        assert_eq!(raw("f4")?, numbers);
        let fortran = array("fortran")?;
        assert_eq!((&fortran.shape[..], fortran.fortran_order), (&[2, 3][..], true));
        let numbers: Vec<u8> =
            [0_u8, 3, 1, 4, 2, 5].iter().flat_map(|&n| f32::from(n).to_le_bytes()).collect();
        assert_eq!(raw("fortran")?, numbers);
        assert_eq!(array("f2")?.dtype.to_string(), "<f2");
        assert_eq!(array("big")?.dtype.to_string(), ">f8");
        assert_eq!(raw("big")?[8..16], 1_f64.to_be_bytes());
        assert_eq!(array("empty")?.shape, [0, 4]);
        assert_eq!(array("scalar-shape")?.shape, []);
        assert_eq!(raw("bools")?, [1, 0]);
        let Content::Objects(objects) = array("objects")?.content else { return Err("no objects".into()) };
        assert_eq!(objects.get(0).and_then(Value::as_str), Some("a"));
        let strings = array("strings")?;
        assert_eq!(
            raw("strings")?.chunks(8).filter_map(|id| strings.dtype.str(id)).collect::<Vec<_>>(),
            ["ab", "c"]
        );
        let strings = array("bytes")?;
        assert_eq!(
            raw("bytes")?.chunks(2).filter_map(|id| strings.dtype.str(id)).collect::<Vec<_>>(),
            ["ab", "c"]
        );

        assert_eq!(Scalar::read(entry("int64")?)?, Scalar::Int(-7));
        assert_eq!(Scalar::read(entry("uint8")?)?, Scalar::Int(200));
        assert_eq!(Scalar::read(entry("str_")?)?, Scalar::Str("d7".to_owned()));
        assert_eq!(Scalar::read(entry("float32")?)?, Scalar::Float(1.5));
        let error = Array::read(entry("int64")?).err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("multiarray.scalar")));
    }
    let bytes = fixture("numpy1.pkl")?;
    let pickle = Pickle::load(&bytes)?;
    let root = pickle.root().as_dict().ok_or("not a dict")?;
    assert_eq!(Array::read(entry(root, "f4")?)?.shape, [2, 3]);
    assert_eq!(Scalar::read(entry(root, "int64")?)?, Scalar::Int(-7));
    Ok(())
}

#[test]
fn arrays_are_borrowed() -> Outcome {
    let bytes = fixture("arrays-4.pkl")?;
    let pickle = Pickle::load(&bytes)?;
    let root = pickle.root().as_dict().ok_or("not a dict")?;
    let Content::Bytes(data) = Array::read(entry(root, "f4")?)?.content else { return Err("objects".into()) };
    assert!(bytes.as_ptr_range().contains(&data.as_ptr()));
    Ok(())
}

#[test]
fn objects_say_what_would_be_called() -> Outcome {
    let bytes = fixture("objects.pkl")?;
    let pickle = Pickle::load(&bytes)?;
    assert_eq!(&bytes[pickle.end()..], b"what follows");
    let root = pickle.root().as_dict().ok_or("not a dict")?;
    let entry = |key| entry(root, key);

    let ordered = entry("ordered")?;
    let keys: Vec<_> =
        ordered.as_dict().ok_or("not a dict")?.iter().filter_map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["weight", "bias"]);
    let state =
        ordered.as_object().and_then(|object| object.state()).and_then(Value::as_dict).ok_or("no state")?;
    assert!(state.get("_metadata").is_some());

    let deque = entry("deque")?.as_object().ok_or("not an object")?;
    assert_eq!(deque.callable().as_global(), Some(("collections", "deque")));
    assert_eq!(deque.args().get(1).and_then(Value::as_int), Some(5));
    assert_eq!(deque.items().iter().filter_map(Value::as_int).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(entry("deque")?.describe(), "an object of `collections.deque`");

    let [first, second] = entry("shared")?.as_list().and_then(|list| list.array()).ok_or("not two")?;
    assert!(first.is(second));
    let cyclic = entry("cyclic")?;
    assert!(cyclic.as_list().and_then(|list| list.get(0)).is_some_and(|inner| inner.is(cyclic)));
    assert_eq!(entry("class")?.describe(), "the global `collections.OrderedDict`");
    let [kind, key] = entry("stored")?
        .as_persistent_id()
        .and_then(|id| id.as_tuple()?.array())
        .ok_or("not a persistent id")?;
    assert_eq!((kind.as_str(), &*key.describe()), (Some("storage"), "the float 2"));
    Ok(())
}

#[test]
fn every_truncation_is_an_error() -> Outcome {
    for name in ["plain-0.pkl", "plain-2.pkl", "plain-4.pkl", "plain-5.pkl", "objects.pkl"] {
        let bytes = fixture(name)?;
        let end = Pickle::load(&bytes)?.end();
        for length in (0..end).rev().step_by(7).chain(end - 40..end) {
            let error = Pickle::load(&bytes[..length]).err();
            assert_eq!(error, Some(PickleError::Truncated { offset: length }), "{name}");
        }
    }
    Ok(())
}

#[test]
fn what_cannot_be_read_is_named() {
    let error = |bytes: &[u8]| Pickle::load(bytes).err();
    assert_eq!(error(b"\x80\x06N."), Some(PickleError::NewerProtocol { found: 6 }));
    assert_eq!(error(b"N\xfe."), Some(PickleError::UnknownOpcode { offset: 1, opcode: 0xfe }));
    let what = "an out-of-band buffer";
    assert_eq!(error(b"\x97."), Some(PickleError::Elsewhere { offset: 0, what }));
    for damaged in [
        &b"."[..],                 // nothing on the stack
        b"(.",                     // nothing after the mark
        b"]a.",                    // nothing to append
        b"NNa.",                   // appended to None
        b"NNb.",                   // None has no state
        b"e.",                     // no mark
        b"}(Nu.",                  // a key without a value
        b"h\x07.",                 // no value 7
        b"NN\x85\x86\x86.",        // a tuple longer than the stack
        b"N]R.",                   // arguments that are a list
        b"NN\x93.",                // names that are not strings
        b"X\x01\x00\x00\x00\xff.", // not UTF-8
        b"\x8a\x11\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f.", // 17 bytes of integer
        b"Ix\n.",
        b"Fx\n.",
        b"Sx\n.",
    ] {
        assert!(matches!(error(damaged), Some(PickleError::Invalid { .. })), "{damaged:?}");
    }
    // Lengths that nothing could hold.
    for long in [
        &b"\x8e\xff\xff\xff\xff\xff\xff\xff\xff"[..],
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"B\xff\xff\xff\xff",
    ] {
        assert!(matches!(error(long), Some(PickleError::Truncated { .. })), "{long:?}");
    }
}

#[test]
fn depth_costs_no_stack() -> Outcome {
    let mut bytes = vec![b']'; 1_000_000];
    bytes.extend(std::iter::repeat_n(b'a', 999_999));
    bytes.push(b'.');
    let pickle = Pickle::load(&bytes)?;
    assert_eq!(pickle.root().describe(), "a list of 1");
    Ok(())
}
