//! How bytes come from and go to object stores: Amazon S3 and its like, Google Cloud Storage, Azure.
//!
//! [`Client`] opens objects as input for [`toller_files::Input`], and [sends](Client::push) and
//! [fetches](Client::pull) stores. It uses the crate `object_store` over the hub's blocking connection, so
//! proxy, certificates and timeouts are the same as for downloads, and no second HTTP stack is built in.
//! Requests are made by threads: a future of `object_store` runs to its end on the thread that waits for it.

mod client;
mod connection;
mod error;
mod folder;
mod object;
mod pattern;
mod pull;
mod push;
mod settings;
mod transfer;
mod url;
mod wait;

pub use client::Client;
pub use error::RemoteError;
pub use transfer::{Transfer, TransferError, Transferred};
