//! Objects as input: whole, in one version, over connections that break.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{Read, Write};
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use toller_corpus::{ReadOptions, open_collection};
use toller_files::{Input, InputReader, ObjectStores, expand, install_object_stores};
use toller_hub::ResolveOptions;
use toller_ir::Explain;
use toller_remote::Client;
use toller_testing::{Fault, ObjectServer};

fn start() -> (ObjectServer, Client) {
    let server = ObjectServer::start(&["bucket"]).unwrap();
    let client = Client::new(ResolveOptions::from_env(), server.variables());
    (server, client)
}

/// Bytes without a period that divides a chunk.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

fn read(client: &Client, url: &str) -> Result<Vec<u8>, String> {
    let mut found = Vec::new();
    let object = client.open(url).map_err(|error| error.to_string())?;
    object.reader().read_to_end(&mut found).map_err(|error| error.to_string())?;
    Ok(found)
}

#[test]
fn an_object_is_read_whole_and_in_order() {
    let (server, client) = start();
    for length in [0, 1, 4 << 20, (9 << 20) + 7, 21 << 20] {
        let name = format!("bucket/folder/{length} b.bin");
        server.write(&name, bytes(length));
        assert!(read(&client, &format!("s3://{name}")).unwrap() == bytes(length), "{length}");
    }
    let object = client.open("s3://bucket/folder/4194304 b.bin").unwrap();
    assert_eq!(object.read_range(4_194_300..4_194_304).unwrap(), bytes(4 << 20)[4_194_300..]);
    assert_eq!(object.stamp().bytes, 4 << 20);
}

#[test]
fn a_broken_connection_goes_on_at_its_offset() {
    let (server, client) = start();
    server.write("bucket/a", bytes(1 << 20));
    server.fail(Fault::CutsBody, "GET bucket/a", 2);
    server.fail(Fault::HangsUp, "GET bucket/a", 1);
    server.fail(Fault::Status(503), "GET bucket/a", 2);
    assert!(read(&client, "s3://bucket/a").unwrap() == bytes(1 << 20));
    let ranges = server.requests();
    assert!(ranges.iter().any(|request| request == "GET bucket/a bytes=524288-1048575"), "{ranges:?}");
    assert!(ranges.iter().any(|request| request == "GET bucket/a bytes=786432-1048575"), "{ranges:?}");
}

#[test]
fn a_replaced_object_is_an_error_in_this_pass_and_the_next() {
    let (server, client) = start();
    server.write("bucket/a", bytes(40 << 20));
    let mut reader = client.open("s3://bucket/a").unwrap().reader();
    reader.read_exact(&mut [0; 10]).unwrap();
    server.write("bucket/a", bytes(40 << 20));
    let error = reader.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "the object was replaced while it was read");
    assert!(error.remedy().unwrap().to_string().contains("run the same command again"));
    assert_eq!(read(&client, "s3://bucket/a").unwrap_err(), error.to_string());
    let old = client.open("s3://bucket/a").unwrap();
    client.forget();
    assert!(read(&client, "s3://bucket/a").unwrap() == bytes(40 << 20));
    assert!(old.read_range(0..1).is_err(), "what is open stays the version that it was");
}

#[test]
fn folders_and_patterns_stand_for_their_objects() {
    let (server, client) = start();
    for name in
        ["p/part-1.gz", "p/part-0.gz", "p/more/x.gz", "p/other.txt", "p/a/x", "p/a-b/x", "q/part-2.gz"]
    {
        server.write(&format!("bucket/{name}"), name);
    }
    server.write("bucket/p", "");
    let list = |url: &str| client.list(url).unwrap();
    let urls = |names: &[&str]| names.iter().map(|name| format!("s3://bucket/{name}")).collect::<Vec<_>>();
    let all = ["p/a/x", "p/a-b/x", "p/more/x.gz", "p/other.txt", "p/part-0.gz", "p/part-1.gz"];
    assert_eq!(list("s3://bucket/p/"), urls(&all));
    assert_eq!(list("s3://bucket/*/part-*.gz"), urls(&["p/part-0.gz", "p/part-1.gz", "q/part-2.gz"]));
    assert_eq!(list("s3://bucket/p/other.txt"), urls(&["p/other.txt"]));
    let heads =
        |server: &ObjectServer| server.requests().iter().filter(|line| line.starts_with("HEAD")).count();
    let before = heads(&server);
    assert_eq!(read(&client, "s3://bucket/q/part-2.gz").unwrap(), b"q/part-2.gz");
    assert_eq!(heads(&server), before, "the listing has said what the object is");
    assert!(client.list("s3://bucket/p/none").is_err());
}

#[test]
fn errors_have_a_reason_and_a_remedy() {
    let (server, client) = start();
    server.write("bucket/a", "text");
    let wrong = |client: &Client, url: &str| {
        let error = client.open(url).err().unwrap();
        (error.to_string(), error.remedy().unwrap().to_string())
    };
    let (reason, remedy) = wrong(&client, "s3://bucket/b");
    assert!(reason.contains("no such object") && remedy.contains("check the bucket"), "{reason} {remedy}");
    let (reason, _) = wrong(&client, "s3://none/b");
    assert!(reason.contains("no such object"), "{reason}");
    assert!(client.list("s3://none/").err().unwrap().to_string().contains("bucket does not exist"));

    let strange =
        [server.variables(), vec![("AWS_ACCESS_KEY_ID".to_owned(), "somebody".to_owned())]].concat();
    let stranger = Client::new(ResolveOptions::from_env(), strange);
    let (reason, remedy) = wrong(&stranger, "s3://bucket/a");
    assert!(reason.contains("403") && remedy.contains("credentials"), "{reason} {remedy}");

    let nowhere = ("AWS_ENDPOINT_URL".to_owned(), "http://127.0.0.1:9".to_owned());
    let lost = Client::new(ResolveOptions::from_env(), [server.variables(), vec![nowhere]].concat());
    let (reason, remedy) = wrong(&lost, "s3://bucket/a");
    assert!(remedy.contains("AWS_ENDPOINT_URL"), "{reason} {remedy}");

    server.write("bucket/folder/x", "text");
    server.write("bucket/folder//y", "text");
    let error = client.list("s3://bucket/folder/").err().unwrap();
    assert!(error.to_string().contains("\"folder//y\""), "{error}");
    assert!(error.remedy().unwrap().to_string().contains("rename that object"));

    let (reason, remedy) = wrong(&client, "s3://bucket/a//b");
    assert!(reason.contains("not the URL") && remedy.contains("s3://BUCKET/KEY"), "{reason}");
}

/// The client is the process's, so that one test has all of this.
#[test]
fn inputs_are_objects_wherever_they_are_files() {
    let (server, client) = start();
    install_object_stores(Arc::new(client));
    let lines = |range: std::ops::Range<u32>| {
        range.map(|at| format!("{{\"_id\": \"d{at}\", \"text\": \"text {at}\"}}\n")).collect::<String>()
    };
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(lines(0..1000).as_bytes()).unwrap();
    server.write("bucket/c/part-0.jsonl.gz", packed.finish().unwrap());
    server.write("bucket/c/part-1.jsonl", lines(1000..1010));
    server.write("bucket/c/README.md", "about");
    server.write("bucket/c/_SUCCESS", "");

    let inputs = expand(["s3://bucket/c/"]).unwrap();
    assert_eq!(
        inputs,
        ["part-0.jsonl.gz", "part-1.jsonl"].map(|name| Input::Object(format!("s3://bucket/c/{name}")))
    );
    assert_eq!(inputs[1].size_bytes(), Some(lines(1000..1010).len() as u64));
    let collection = open_collection(&inputs, &ReadOptions::default()).unwrap();
    let ids: Vec<String> = collection.map(|passage| passage.unwrap().id).collect();
    assert_eq!(ids, (0..1010).map(|at| format!("d{at}")).collect::<Vec<_>>());

    let parquet = parquet(4000);
    assert!(parquet.len() > 3 * (4 << 20), "several blocks: {}", parquet.len());
    server.write("bucket/p.parquet", parquet);
    server.fail(Fault::CutsBody, "GET bucket/p.parquet", 2);
    let inputs = expand(["s3://bucket/p.parquet"]).unwrap();
    let collection = open_collection(&inputs, &ReadOptions::default()).unwrap();
    let found: Vec<_> = collection.map(|passage| passage.unwrap()).collect();
    assert_eq!(found.len(), 4000);
    for (at, found) in found.into_iter().enumerate() {
        assert_eq!((found.id, found.text.len()), (format!("d{at}"), 4000 + at % 7));
    }

    let mut text = String::new();
    InputReader::open(&Input::parse("s3://bucket/c/README.md")).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "about");
    let error = expand(["s3://bucket/c/nothing.tsv"]).unwrap_err();
    assert!(
        error.to_string().starts_with("cannot list s3://bucket/c/nothing.tsv: there is no such object"),
        "{error}"
    );
    assert!(error.remedy().is_some());
    let error = expand(["s3://bucket/c/*.tsv"]).unwrap_err();
    assert!(error.to_string().contains("no data files"), "{error}");
    assert!(error.remedy().unwrap().to_string().starts_with("check the bucket and the key"));
}

/// Rows of identifiers and texts of about 4 kB.
fn parquet(rows: usize) -> Vec<u8> {
    let schema =
        parse_message_type("message m { required binary id (UTF8); required binary text (UTF8); }").unwrap();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let texts: [&dyn Fn(usize) -> String; 2] =
        [&|at| format!("d{at}"), &|at| format!("{at:08}").repeat(501)[..4000 + at % 7].to_owned()];
    for text in texts {
        let values: Vec<ByteArray> = (0..rows).map(|at| ByteArray::from(text(at).into_bytes())).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}
