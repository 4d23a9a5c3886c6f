//! Models of the Hugging Face hub: the cache that is shared with its Python clients, and downloads.

mod cache;
mod client;
mod download;
mod id;
mod listing;
mod snapshot;

pub(super) use cache::RepoCache;
pub(super) use download::Repo;
pub(super) use id::RepoId;
pub(super) use snapshot::snapshot;
