//! Object stores for the tests of this room.

use super::*;
use access::{Access, Client};
use object_store::{
    ObjectStoreExt as _, StaticCredentialProvider, aws::AwsCredential, memory::InMemory,
};

const BUCKET: &str = "platform-bucket";

fn with(name: &str, access: Access, client: Client) -> Objects {
    let objects = Objects::of(&Storage::default());
    let bucket = Bucket::with(Service::S3, name, access, client).unwrap();
    lock(&objects.0.buckets).insert((Service::S3, name.to_owned()), Arc::new(bucket));
    objects
}

pub(in crate::assets) fn in_memory() -> Objects {
    let client = Client::Memory(Arc::new(InMemory::new()));
    with(BUCKET, Access::default(), client)
}

pub(in crate::assets) fn at(endpoint: &str, keys: (&str, &str)) -> Objects {
    bucket_at(endpoint, keys, BUCKET)
}

pub(in crate::assets) fn bucket_at(endpoint: &str, keys: (&str, &str), name: &str) -> Objects {
    let keys = AwsCredential {
        key_id: keys.0.to_owned(),
        secret_key: keys.1.to_owned(),
        token: None,
    };
    let access = Access {
        endpoint: Some(endpoint.parse().unwrap()),
        region: Some("us-east-1".to_owned()),
        keys: Some(Arc::new(StaticCredentialProvider::new(keys))),
    };
    let client = access
        .client(Service::S3, name, &access::Purpose::Small)
        .unwrap();
    with(name, access, client)
}

impl Objects {
    /// The same stores with other clients.
    pub(in crate::assets) fn anew(&self) -> Self {
        let objects = Self::of(&self.0.storage);
        for ((service, name), bucket) in lock(&self.0.buckets).iter() {
            let access = bucket.access.clone();
            let bucket = Bucket::with(*service, name, access, bucket.client.clone()).unwrap();
            lock(&objects.0.buckets).insert((*service, name.clone()), Arc::new(bucket));
        }
        objects
    }
}

/// Puts an object as another program does.
pub(in crate::assets) fn put(objects: &Objects, uri: &Uri, content: &'static [u8]) {
    let Place { bucket, path } = objects.must_place(uri).unwrap();
    let client = bucket.client.clone();
    bucket
        .wait(&|| true, async {
            client.store().put(&path, content.into()).await
        })
        .unwrap();
}
