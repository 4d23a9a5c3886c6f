//! Object stores, with the settings of the environment.

use std::sync::Arc;

use toller_engine::ResolveOptions;
use toller_files::install_object_stores;
use toller_hub::env;
use toller_remote::Client;

/// A client of object stores.
pub fn client() -> Client {
    Client::new(ResolveOptions::from_env(), env::of_object_stores())
}

/// Lets this process read objects as input, with the settings of the environment.
pub fn install() {
    install_object_stores(Arc::new(client()));
}
